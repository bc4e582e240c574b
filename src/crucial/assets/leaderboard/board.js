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
