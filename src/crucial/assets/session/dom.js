// Everything on the page is made of elements and text nodes: data never become markup.
'use strict';
const byId = (id) => document.getElementById(id);

function el(tag, name, ...children) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...children.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
  return node;
}

// A name from the table: kept apart from the direction of writing around it.
function named(text) {
  const node = el('bdi', '', text);
  node.title = text;
  return node;
}

const counted = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

// The share of the order that is known: 0 if pairs stand as by chance, 1 if all are right.
const knownPercent = (state) => Math.max(0, Math.round(200 * state.settled - 100));
