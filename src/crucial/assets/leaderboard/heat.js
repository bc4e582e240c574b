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
