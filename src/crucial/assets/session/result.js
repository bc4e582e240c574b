// The card of the result: on the page, as a picture and as text.
'use strict';
const CARD_PLACES = 10;

function resultOf(state, places) {
  const most = Math.min(CARD_PLACES, Math.max(5, state.top));
  const known = `${knownPercent(state)}% of the order is known`;
  const day = new Date().toLocaleDateString('en', { year: 'numeric', month: 'long', day: 'numeric' });
  return {
    title: state.title || 'Ranking',
    facts: [counted(state.answers, 'answer', 'answers') + (state.judge ? ` by ${state.judge}` : ''), counted(state.items, 'item', 'items'), known, day],
    places: places.slice(0, most),
    left: places.length - Math.min(most, places.length),
  };
}

function resultCard(result) {
  const list = el('ol', 'places');
  for (const one of result.places) {
    const row = el('li', one.settled ? 'sure' : '', el('span', 'rank', one.rank), el('span', 'name', named(one.name)), el('span', 'open', openRanks(one)));
    list.append(row);
  }
  const more = result.left > 0 ? [el('p', 'soft', `and ${result.left.toLocaleString('en')} more`)] : [];
  return el('article', 'result-card', el('h3', '', named(result.title)), list, ...more, el('p', 'soft', result.facts.join(' \u00b7 ')));
}

function resultText(result) {
  return [result.title, ...result.places.map((one) => `${one.rank}. ${one.name}${openRanks(one)}`), result.facts.join(', ')].join('\n');
}

// Drawn by hand: the policy of the page allows no picture that is not from the server.
function resultPicture(result) {
  const canvas = el('canvas');
  [canvas.width, canvas.height] = [1200, 630];
  const pen = canvas.getContext('2d');
  const write = (text, x, y, font, ink, most) => {
    pen.font = `${font} "DejaVu Sans", sans-serif`;
    pen.fillStyle = ink;
    let shown = text.replace(/\s+/g, ' ');
    if (pen.measureText(shown).width > most) {
      const signs = [...shown];
      let few = signs.length;
      while (few > 0 && pen.measureText(`${signs.slice(0, few).join('')}\u2026`).width > most) few = few > 200 ? 200 : few - 1;
      shown = `${signs.slice(0, few).join('')}\u2026`;
    }
    pen.fillText(shown, x, y);
  };
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, 1200, 630);
  pen.fillStyle = '#1c5fb8';
  pen.fillRect(0, 0, 12, 630);
  write(result.title, 60, 90, 'bold 42px', '#1c222b', 1080);
  const step = Math.min(82, 420 / Math.max(1, result.places.length));
  const size = Math.round(Math.min(34, 0.62 * step));
  result.places.forEach((one, k) => {
    const y = 165 + step * k;
    const sure = one.settled;
    write(String(one.rank), 60, y, `bold ${size}px`, sure ? '#1c5fb8' : '#59626f', 90);
    write(one.name, 150, y, `${sure ? 'bold ' : ''}${size}px`, '#1c222b', 800);
    write(openRanks(one), 970, y, `${Math.round(0.75 * size)}px`, '#59626f', 170);
  });
  write(result.facts.join(' \u00b7 '), 60, 595, '20px', '#59626f', 1080);
  return canvas;
}

function saveResult(result) {
  resultPicture(result).toBlob((blob) => {
    const link = el('a');
    link.href = URL.createObjectURL(blob);
    link.download = 'ranking.png';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}
