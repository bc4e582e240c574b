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
