// Everything on the page is made of elements and text nodes: data never become markup.
'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  let state = null;
  let busy = false;

  function el(tag, name, ...children) {
    const node = document.createElement(tag);
    if (name) node.className = name;
    node.append(...children.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
    return node;
  }
  // A name from the table: kept apart from the direction of writing around it.
  const named = (text) => { const node = el('bdi', '', text); node.title = text; return node; };
  const counted = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

  function showCard(card, item, side) {
    const parts = [];
    if (item.image) {
      const image = el('img');
      image.alt = item.name;
      image.src = item.image;
      parts.push(image);
    }
    const name = el('span', 'name', named(item.name));
    parts.push(name);
    if (item.text) parts.push(el('span', 'text', item.text));
    if (item.cells.length) {
      const cells = el('span', 'cells');
      for (const [key, value] of item.cells) cells.append(el('span', 'key', named(key)), el('span', '', value));
      parts.push(cells);
    }
    card.replaceChildren(...parts);
    card.classList.remove('chosen');
    card.dataset.item = item.item;
    card.setAttribute('aria-label', `${side}: ${item.name} is better`);
    return item.text.length > 60 || item.cells.length > 2 || item.name.length > 60;
  }

  function showRanking() {
    const list = byId('ranking');
    const known = new Map([...list.children].map((row) => [row.dataset.item, row]));
    const low = Math.min(...state.ranking.map((one) => one.low));
    const high = Math.max(...state.ranking.map((one) => one.high));
    const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
    const rows = state.ranking.map((one) => {
      let row = known.get(String(one.item));
      if (!row) {
        const track = el('span', 'track', el('i', 'span'), el('i', 'dot'));
        track.setAttribute('aria-hidden', 'true');
        row = el('li', '', el('span', 'name', named(one.name)), track, el('span', 'rank'));
        row.dataset.item = one.item;
      }
      row.classList.toggle('asked', one.asked > 0);
      row.querySelector('.span').style.left = `${at(one.low)}%`;
      row.querySelector('.span').style.width = `${at(one.high) - at(one.low)}%`;
      row.querySelector('.dot').style.left = `${at(one.strength)}%`;
      const open = one.rank_low === one.rank_high ? '' : ` (${one.rank_low}\u2013${one.rank_high})`;
      row.querySelector('.rank').replaceChildren(String(one.rank), el('span', '', open));
      return row;
    });
    list.replaceChildren(...rows);
    const hidden = state.items - rows.length;
    byId('more').textContent = hidden > 0 ? `and ${hidden.toLocaleString('en')} more` : '';
  }

  function show() {
    if (state.title) {
      byId('title').textContent = state.title;
      document.title = state.title;
    }
    byId('progress').textContent = `${counted(state.answers, 'answer', 'answers')} about ${counted(state.items, 'item', 'items')}. Which is better?`;
    const long = [showCard(byId('left'), state.left, 'Left'), showCard(byId('right'), state.right, 'Right')];
    document.querySelector('.pair').classList.toggle('long', long.includes(true));
    const share = Math.round(100 * state.settled);
    byId('settled').textContent = state.answers ? `About ${share}% of all pairs are expected to stand in their right order.` : 'Nothing is known yet.';
    byId('meter').style.width = `${Math.max(0, 200 * state.settled - 100)}%`;
    byId('undo').disabled = state.answers === 0;
    byId('said').textContent = `${state.left.name}, or ${state.right.name}?`;
    showRanking();
    document.documentElement.dataset.number = state.number;
    document.documentElement.dataset.ready = 'yes';
  }

  function trouble(text) {
    byId('trouble').textContent = text;
    byId('trouble').hidden = !text;
  }

  async function ask(route, body) {
    if (busy) return;
    busy = true;
    for (const button of document.querySelectorAll('#ask button')) button.disabled = true;
    try {
      const options = { cache: 'no-store', credentials: 'omit', redirect: 'error' };
      if (body) {
        options.method = 'POST';
        options.headers = { 'Content-Type': 'application/json' };
        options.body = JSON.stringify(body);
      }
      const reply = await fetch(route, options);
      const data = await reply.json();
      trouble(data.error || '');
      if (data.ranking) state = data;
    } catch {
      trouble('The program behind this page has ended. Every answer it took is kept: start “crucial prefer” again and use the address it gives.');
    }
    busy = false;
    for (const button of document.querySelectorAll('#ask button')) button.disabled = false;
    if (state) show();
  }

  function answer(word) {
    if (!state || busy) return;
    if (word === 'left' || word === 'right') byId(word).classList.add('chosen');
    ask('answer', { number: state.number, answer: word });
  }
  function undo() {
    if (state && state.answers > 0) ask('undo', { number: state.number });
  }

  byId('left').addEventListener('click', () => answer('left'));
  byId('right').addEventListener('click', () => answer('right'));
  byId('tie').addEventListener('click', () => answer('tie'));
  byId('pass').addEventListener('click', () => answer('skip'));
  byId('undo').addEventListener('click', undo);
  const keys = {
    ArrowLeft: () => answer('left'), ArrowRight: () => answer('right'),
    t: () => answer('tie'), s: () => answer('skip'), u: undo, Backspace: undo,
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId('theme').addEventListener('click', () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
  ask('state');
})();
