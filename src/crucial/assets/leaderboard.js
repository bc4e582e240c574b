const data = JSON.parse(document.getElementById('data').textContent);

// The table of a board: ranks with their spread, strengths with their intervals.
const ROWS = 100;
const JUDGES = 8;
const elo = data.scale === 'elo';
const points = (value) => (elo ? String(Math.round(value)) : signed2(value));
const signed2 = (value) => (value < 0 ? '\u2212' : '+') + Math.abs(value).toFixed(2);
const spread = ([low, high]) => (low === high ? String(low) : `${low}\u2013${high}`);
const many = (value) => (Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(1));
const tallyText = (tally) => tally.map(many).join('\u2013');

// (provisional items would stretch the scale: their bars are cut at its ends)
function range(all) {
  const sure = all.filter((one) => !one.provisional);
  const items = sure.length ? sure : all;
  const ends = items.flatMap((one) => one.span || [one.strength]);
  const low = Math.min(...ends);
  const high = Math.max(...ends);
  const pad = 0.03 * (high - low || 1);
  return [low - pad, high + pad];
}

function intervalBar(one, [low, high]) {
  const x = (value) => Math.max(0, Math.min(100, (100 * (value - low)) / (high - low)));
  const span = one.span || [one.strength, one.strength];
  const text = one.span ? `${points(one.strength)}, ${points(span[0])} to ${points(span[1])}` : points(one.strength);
  return svg(
    'svg',
    { class: 'interval', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': text },
    svg('line', { class: 'axis', x1: 0, x2: 100, y1: 5, y2: 5 }),
    svg('line', { class: 'reach', x1: x(span[0]), x2: x(span[1]), y1: 5, y2: 5 }),
    svg('line', { class: 'middle', x1: x(one.strength), x2: x(one.strength), y1: 1, y2: 9 }),
  );
}

function boardRow(board, one, scale) {
  const span = one.span ? `${points(one.span[0])} to ${points(one.span[1])}` : '';
  return el(
    'tr',
    { class: one.provisional ? 'provisional' : null },
    el('td', { class: 'number place' }, el('b', null, one.rank), ' ', el('span', { class: 'soft' }, spread(one.ranks))),
    el(
      'td',
      { class: 'who' },
      named(one.name),
      one.provisional ? el('span', { class: 'tag' }, 'provisional') : null,
      board.parts > 1 ? el('span', { class: 'tag' }, `part ${one.part}`) : null,
    ),
    el('td', { class: 'number' }, points(one.strength), el('span', { class: 'span soft' }, span)),
    el('td', { class: 'drawn' }, intervalBar(one, scale)),
    el('td', { class: 'number tally' }, one.tally ? tallyText(one.tally) : ''),
  );
}

function boardTable(board) {
  const search = el('input', {
    type: 'search',
    placeholder: 'Search items',
    'aria-label': 'Search items',
    autocomplete: 'off',
  });
  const count = el('output', { class: 'soft', 'aria-live': 'polite' });
  const body = el('tbody');
  const more = el('button', { type: 'button', class: 'more' });
  const scale = range(board.items);
  let all = false;
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = board.items.filter((one) => one.name.toLowerCase().includes(wanted));
    const shown = all ? found : found.slice(0, ROWS);
    body.replaceChildren(...shown.map((one) => boardRow(board, one, scale)));
    count.textContent = wanted ? `${found.length.toLocaleString('en')} of ${counted(board.items.length, 'item', 'items')}` : '';
    more.hidden = shown.length === found.length;
    more.textContent = `Show all ${found.length.toLocaleString('en')}`;
  };
  search.addEventListener('input', fill);
  more.addEventListener('click', () => {
    all = true;
    fill();
  });
  fill();
  const unit = elo
    ? 'Strengths are points: 400 are odds of 10 to 1, and an average item has 1000.'
    : 'Strengths are log-odds: an item stronger by 1 wins 73% of decided comparisons.';
  const head = (text, kind) => el('th', { scope: 'col', class: kind }, text);
  return [
    el('p', { class: 'note' }, `${unit} Beside each rank is its ${Math.round(100 * data.level)}% interval.`),
    el('div', { class: 'tools' }, search, count),
    el(
      'table',
      { class: 'board' },
      el(
        'thead',
        null,
        el(
          'tr',
          null,
          head('Rank', 'number place'),
          head('Item', 'who'),
          head('Strength', 'number'),
          head(`${Math.round(100 * data.level)}% interval`, 'drawn'),
          head('Won\u2013lost\u2013tied', 'number tally'),
        ),
      ),
      body,
    ),
    more,
  ];
}

// Who beat whom: the row's share of decided comparisons with the column, ties half.
function heatMap(board) {
  const size = Math.min(40, board.items.length);
  const items = board.items.slice(0, size);
  const cells = new Map();
  for (const [i, j, won, tied] of board.wins) cells.set(i * size + j, [won, tied]);
  const at = (i, j) => cells.get(i * size + j) || [0, 0];
  const out = el('output', { class: 'readout soft', 'aria-live': 'polite' }, 'Point at a cell, or tap it.');
  const unit = 16;
  const left = 28;
  const tell = (i, j) => {
    const [won, tied] = at(i, j);
    const lost = at(j, i)[0];
    const a = items[i];
    const b = items[j];
    const says = [named(a.name), ' against ', named(b.name), `: won ${many(won)}, lost ${many(lost)}, tied ${many(tied)}`];
    if (a.part === b.part) {
      const chance = 1 / (1 + Math.exp((b.strength - a.strength) / data.unit));
      says.push(`; by the strengths ${percent(chance)} of decisions`);
    }
    out.replaceChildren(...says);
  };
  const drawn = [];
  for (let i = 0; i < size; i++) {
    drawn.push(svg('text', { x: left - 4, y: left + i * unit + 12, 'text-anchor': 'end' }, items[i].rank));
    drawn.push(svg('text', { x: left + i * unit + 8, y: left - 5, 'text-anchor': 'middle' }, items[i].rank));
    for (let j = 0; j < size; j++) {
      const [won, tied] = at(i, j);
      const total = won + tied + at(j, i)[0];
      const share = total ? (won + tied / 2) / total : null;
      const kind = i === j ? 'self' : share === null ? 'none' : share >= 0.5 ? 'won' : 'lost';
      const cell = svg('rect', {
        class: `heat ${kind}`,
        x: left + j * unit,
        y: left + i * unit,
        width: unit - 1,
        height: unit - 1,
        'fill-opacity': share === null ? null : (0.12 + 0.88 * Math.abs(2 * share - 1)).toFixed(3),
        'data-cell': `${i} ${j}`,
      });
      drawn.push(cell);
    }
  }
  const side = left + size * unit + 2;
  const picture = svg(
    'svg',
    { class: 'heatmap', viewBox: `0 0 ${side} ${side}`, role: 'img', 'aria-label': 'Table of wins; the text below tells a cell' },
    drawn,
  );
  const point = (event) => {
    const cell = event.target.getAttribute && event.target.getAttribute('data-cell');
    if (!cell) return;
    const [i, j] = cell.split(' ').map(Number);
    if (i !== j) tell(i, j);
  };
  picture.addEventListener('mousemove', point);
  picture.addEventListener('click', point);
  const first = board.items.length > size ? ` of the first ${size} items` : '';
  return [
    el(
      'p',
      { class: 'note' },
      `The row's share of its comparisons with the column${first}, a tie half; numbers are ranks. `,
      el('span', { class: 'key won' }, 'won more'),
      el('span', { class: 'key lost' }, 'lost more'),
      el('span', { class: 'key none' }, 'never compared'),
    ),
    el('div', { class: 'heat-frame' }, picture),
    out,
  ];
}

// Judges: how they follow the others, and whether the position sways them.
const chanceText = (p) => (p < 1e-4 ? 'p < 1e-4' : `p = ${Number(p.toPrecision(2))}`);

function positionText(bias) {
  if (!bias || bias.share === null) return '';
  return `${percent(bias.share, 1)}, ${chanceText(bias.p)}`;
}

function judgesSection() {
  if (!data.judges.length && !data.position && !data.effects.length) return null;
  const children = [];
  if (data.position) {
    const bias = data.position;
    children.push(
      el(
        'p',
        null,
        `The item shown first won ${percent(bias.share, 1)} of ${counted(bias.n, 'decision', 'decisions')}: ` +
          `${signed2(bias.effect)} log-odds given the strengths (${signed2(bias.low)} to ${signed2(bias.high)}), ` +
          `${chanceText(bias.p)}.`,
      ),
    );
  }
  if (data.effects.length) {
    children.push(
      table(
        'Covariates taken out of the strengths, in log-odds per unit.',
        [{ name: 'Covariate' }, { name: 'Effect', number: true }, { name: 'Interval', number: true }, { name: 'Test', number: true }],
        data.effects.map((one) => [named(one.name), number(one.effect, 3), `${number(one.low, 3)} to ${number(one.high, 3)}`, chanceText(one.p)]),
      ),
    );
  }
  if (data.judges.length) {
    const sways = data.judges.some((one) => one.position);
    const heads = [
      { name: 'Judge' },
      { name: 'Comparisons', number: true },
      { name: 'As the others', number: true },
      { name: 'Reliability', number: true },
    ];
    if (sways) heads.push({ name: 'First shown won', number: true });
    const row = (one) => {
      const [middle, low, high] = one.reliability;
      const cells = [
        named(one.name),
        one.n.toLocaleString('en'),
        one.agrees === null ? '' : percent(one.agrees, 1),
        middle === null ? '' : `${middle.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
      ];
      if (sways) cells.push(positionText(one.position));
      return cells;
    };
    const said =
      'Reliability: 1 follows the others as judges do on average, 0 guesses, below 0 contradicts. Tests of the position are adjusted for the number of judges.';
    const shown = (count) => table(said, heads, data.judges.slice(0, count).map(row), 'judges');
    const place = el('div', null, shown(JUDGES));
    children.push(place);
    if (data.judges.length > JUDGES) {
      const cut = data.n_judges > data.judges.length;
      const most = cut ? `the ${data.judges.length.toLocaleString('en')} busiest of ` : 'all ';
      const more = el('button', { type: 'button', class: 'more' }, `Show ${most}${data.n_judges.toLocaleString('en')} judges`);
      more.addEventListener('click', () => {
        place.replaceChildren(...shown(data.judges.length));
        more.remove();
      });
      children.push(more);
    }
  }
  return section('judges', data.judges.length ? 'Judges' : 'Position and covariates', children);
}

// A picture for sharing, 1200 by 630: the first items with their intervals.
function sharePicture(board) {
  const inside = board.items.filter((one) => one.part === 1);
  const settled = inside.filter((one) => !one.provisional);
  const items = (settled.length ? settled : inside).slice(0, 10);
  const [low, high] = range(items);
  const x = (value) => 560 + (560 * (value - low)) / (high - low);
  const step = 430 / Math.max(items.length, 6);
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);
  const text = (at, size, content, extra) =>
    svg('text', { x: at[0], y: at[1], 'font-size': size, 'font-family': 'sans-serif', fill: '#1c222b', ...extra }, content);
  const rows = items.flatMap((one, k) => {
    const y = 150 + step * k;
    const span = one.span || [one.strength, one.strength];
    const ink = one.provisional ? '#8a929d' : '#1c5fb8';
    return [
      text([60, y + 7], 22, spread(one.ranks), { fill: '#59626f' }),
      text([150, y + 7], 24, cut(one.name, 27), { 'font-weight': k ? 400 : 700 }),
      svg('line', { x1: x(span[0]), x2: x(span[1]), y1: y, y2: y, stroke: ink, 'stroke-width': 6, 'stroke-opacity': 0.35, 'stroke-linecap': 'round' }),
      svg('circle', { cx: x(one.strength), cy: y, r: 8, fill: ink }),
    ];
  });
  const name = board.name === 'All' ? data.title : `${data.title}: ${board.name}`;
  return svg(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', width: 1200, height: 630, viewBox: '0 0 1200 630' },
    svg('rect', { width: 1200, height: 630, fill: '#ffffff' }),
    text([60, 75], 36, cut(name, 56), { 'font-weight': 700 }),
    text([60, 110], 20, `${data.subtitle}; rank, and strength with its ${Math.round(100 * data.level)}% interval`, { fill: '#59626f' }),
    rows,
    text([60, 605], 16, board.items.length > items.length ? `the first ${items.length} of ${board.items.length} items${settled.length && settled.length < inside.length ? ', provisional ones left out' : ''}` : '', { fill: '#59626f' }),
  );
}

function pictureButton(current) {
  const button = el('button', { type: 'button', id: 'picture' }, 'Save picture');
  button.addEventListener('click', () => {
    const text = new XMLSerializer().serializeToString(sharePicture(current()));
    const image = new Image();
    image.addEventListener('load', () => {
      const canvas = el('canvas', { width: 1200, height: 630 });
      canvas.getContext('2d').drawImage(image, 0, 0);
      el('a', { href: canvas.toDataURL('image/png'), download: 'leaderboard.png' }).click();
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
  return button;
}

// The page: one tab per category, the table, who beat whom, judges, notes.
let current = data.boards[0];
const boardPlace = el('div');
const heatPlace = el('div');
const notesPlace = el('ul', { class: 'sentences' });
const tabs = data.boards.map((board) =>
  el(
    'button',
    { type: 'button', role: 'tab', on: { click: () => choose(board) } },
    named(board.name),
    board.comparisons === null ? null : el('span', { class: 'soft' }, ` ${board.comparisons.toLocaleString('en')}`),
  ),
);

function choose(board) {
  current = board;
  tabs.forEach((tab, k) => {
    const on = data.boards[k] === board;
    tab.setAttribute('aria-selected', on ? 'true' : 'false');
    tab.setAttribute('aria-pressed', on ? 'true' : 'false');
  });
  boardPlace.replaceChildren(...boardTable(board).flat(Infinity));
  heatPlace.replaceChildren(...heatMap(board).flat(Infinity));
  notesPlace.replaceChildren(...board.notes.map((note) => el('li', null, note)));
}

document
  .getElementById('app')
  .append(
    el(
      'header',
      null,
      el('div', null, el('h1', null, named(data.title)), el('p', { class: 'subtitle' }, data.subtitle)),
      pictureButton(() => current),
      themeButton(),
    ),
    el(
      'main',
      { id: 'content' },
      data.boards.length > 1 ? el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Categories' }, tabs) : '',
      section('board', 'Leaderboard', boardPlace),
      section('wins', 'Who beat whom', heatPlace),
      judgesSection() || '',
      section('notes', 'Notes', notesPlace),
    ),
    el('footer', null, `Made by crucial ${data.version}. This page is complete in itself and fetches nothing.`),
  );
choose(current);
document.documentElement.dataset.ready = 'yes';
