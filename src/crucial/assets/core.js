// Everything on the page is made of elements and text nodes: data never become markup.
// Options are attributes, listeners under 'on', or the class alone.
function fill(node, options, children) {
  const attributes = typeof options === 'string' ? { class: options || null } : options || {};
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on') {
      for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
    } else {
      node.setAttribute(key, value === true ? '' : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (tag, options, ...children) => fill(document.createElement(tag), options, children);
const svg = (tag, options, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), options, children);

// A name from the data: kept apart from the direction of writing around it.
const named = (text) => el('bdi', { title: text }, text);

function number(value, digits = 4) {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'string') return value; // a category, or a date
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString('en');
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}
const fixed = (value, digits = 3) => (value === null || value === undefined ? 'none' : value.toFixed(digits));
const signed = (value) => (value > 0 ? '+' : value < 0 ? '\u2212' : '') + number(Math.abs(value), 3);
const percent = (share, digits = 0) =>
  share > 0 && share < 0.5 * 10 ** (-2 - digits)
    ? '<' + (10 ** -digits).toFixed(digits) + '%'
    : (100 * share).toFixed(digits) + '%';
const counted = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

function section(id, title, ...children) {
  return el(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    el('h2', { id: `${id}-title` }, title),
    children,
  );
}

// A table with a heading; cells are text or nodes, numbers stand at the right.
function table(caption, heads, rows, kind) {
  const cell = (tag, value, head) =>
    el(tag, { class: head.number ? 'number' : undefined, scope: tag === 'th' ? 'col' : undefined }, value);
  return [
    caption ? el('p', { class: 'note' }, caption) : null,
    el(
      'div',
      { class: 'scroll' },
      el(
        'table',
        { class: kind, 'aria-label': caption },
        el(
          'thead',
          null,
          el(
            'tr',
            null,
            heads.map((head) => cell('th', head.name, head)),
          ),
        ),
        el(
          'tbody',
          null,
          rows.map((row) =>
            el(
              'tr',
              null,
              row.map((value, j) => cell('td', value, heads[j])),
            ),
          ),
        ),
      ),
    ),
  ];
}

function themeButton() {
  const root = document.documentElement;
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const button = el('button', { type: 'button', id: 'theme' });
  const paint = () => {
    button.textContent = dark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to ${dark() ? 'light' : 'dark'} colours`);
  };
  button.addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    paint();
  });
  system.addEventListener('change', paint);
  paint();
  return button;
}
