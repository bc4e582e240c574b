const sections = [
  summarySection(),
  systemsSection(),
  runsSection(),
  topSection(),
  queriesSection(),
  notesSection(),
];
const links = sections.map((one) =>
  el('li', null, el('a', { href: `#${one.id}` }, one.querySelector('h2').textContent.replace(/^Who contributed the first.*/, 'At the top').replace('Won and lost queries', 'Queries'))),
);
document
  .getElementById('app')
  .append(
    el(
      'header',
      null,
      el('div', null, el('h1', null, named(data.title)), el('p', { class: 'subtitle' }, data.subtitle)),
      themeButton(),
    ),
    el('nav', { class: 'bar', 'aria-label': 'Sections' }, el('div', null, el('ul', null, links))),
    el('main', { id: 'content' }, sections),
    el('footer', null, `Made by crucial ${data.version}. This page is complete in itself and fetches nothing.`),
  );
document.documentElement.dataset.ready = 'yes';
