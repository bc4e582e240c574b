// The ranking: one row per item that has a rank.
'use strict';
function rankingRow(one) {
  const track = el('span', 'track', el('i', 'span'), el('i', 'dot'));
  track.setAttribute('aria-hidden', 'true');
  const row = el('li', '', el('span', 'name', named(one.name)), track, el('span', 'rank'));
  row.dataset.item = one.item;
  return row;
}

const openRanks = (one) => (one.settled || one.rank_low === one.rank_high ? '' : ` (${one.rank_low}\u2013${one.rank_high})`);

function showRanking(list, places) {
  const known = new Map([...list.children].map((row) => [row.dataset.item, row]));
  const low = Math.min(...places.map((one) => one.low));
  const high = Math.max(...places.map((one) => one.high));
  const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const rows = places.map((one) => {
    const row = known.get(String(one.item)) || rankingRow(one);
    const [, track, rank] = row.children;
    const [span, dot] = track.children;
    row.classList.toggle('asked', one.asked > 0);
    row.classList.toggle('sure', one.settled);
    span.style.left = `${at(one.low)}%`;
    span.style.width = `${at(one.high) - at(one.low)}%`;
    dot.style.left = `${at(one.strength)}%`;
    rank.replaceChildren(String(one.rank), el('span', '', openRanks(one)));
    return row;
  });
  // The column of ranks is as wide as the widest of them.
  const widest = Math.max(4, ...places.map((one) => `${one.rank}${openRanks(one)}`.length));
  list.style.setProperty('--rank', `${widest + 1}ch`);
  list.replaceChildren(...rows);
}
