// The table of a board: ranks with their spread, strengths with their intervals.
const ROWS = 100;
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
