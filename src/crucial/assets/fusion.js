const data = JSON.parse(document.getElementById('data').textContent);

// The sections of the page of a fusion.
const measure = data.measures[0];
const fused = data.systems[data.systems.length - 1];
// A difference with as many digits as the values beside it.
const change = (value) => (value < 0 ? '\u2212' : '+') + fixed(Math.abs(value), 4);
const span = (one) => `${change(one.difference)} [${change(one.low)}, ${change(one.high)}]`;

function summarySection() {
  const own = fused.measures[measure];
  const tile = (value, label, note) =>
    el(
      'li',
      null,
      el('span', { class: 'value' }, value),
      el('span', { class: 'label' }, label),
      el('span', { class: 'note' }, note),
    );
  return section(
    'summary',
    'Summary',
    el(
      'ul',
      { class: 'tiles' },
      tile(fixed(own.value, 4), measure, 'of this fusion'),
      tile(change(own.difference), 'against rrf(60)', `95% interval ${change(own.low)} to ${change(own.high)}`),
      tile(`${own.wins} : ${own.losses}`, 'queries won : lost', `${own.level} the same as rrf(60)`),
      tile(percent(data.top.documents ? data.top.relevant / data.top.documents : 0), 'relevant', `of the first ${data.top.depth}`),
    ),
    el(
      'ul',
      { class: 'sentences' },
      data.sentences.map((line) => el('li', null, line)),
    ),
  );
}

function systemsSection() {
  const heads = [
    { name: 'System' },
    ...data.measures.map((name) => ({ name, number: true })),
    { name: `${measure} against rrf(60)`, number: true },
    { name: 'Won / same / lost', number: true },
  ];
  const rows = data.systems.map((one) => {
    const first = one.measures[measure];
    const plain = one.kind === 'rule';
    return [
      el('span', { class: one.kind === 'fusion' ? 'own' : undefined }, named(one.name)),
      ...data.measures.map((name) => fixed(one.measures[name].value, 4)),
      plain ? '' : span(first),
      plain ? '' : `${first.wins} / ${first.level} / ${first.losses}`,
    ];
  });
  return section('systems', 'Systems', table('The same judged queries for all.', heads, rows, 'systems'));
}

function runsSection() {
  const most = Math.max(...data.runs.map((one) => one.weight), 1e-300);
  const bars = barList(
    data.runs.map((one) => ({ name: one.name, part: one.weight / most, amount: percent(one.weight, 1) })),
    'Weights of the runs',
  );
  const all = [...new Set(data.runs.flatMap((one) => one.positions))].sort((a, b) => a - b);
  // (every run is read at its own positions; between them the last one holds)
  const series = data.runs.map((one) => ({
    name: one.name,
    y: all.map((x) => {
      if (x > one.positions[one.positions.length - 1]) return null;
      let at = 0;
      while (at + 1 < one.positions.length && one.positions[at + 1] <= x) at += 1;
      return one.adds[at];
    }),
  }));
  return section(
    'runs',
    'Runs',
    el('div', { class: 'split' },
      el('div', null, el('h3', null, 'Share of the weight'), bars),
      lineChart({
        title: 'What a position adds to the score',
        label: 'What a position in each run adds to the score of a document',
        x: all,
        xName: 'position',
        series,
        from0: true,
      }),
    ),
    el('p', { class: 'note' }, 'Compared with not being returned by the run: a run abstains on a document that it did not return.'),
  );
}

function topSection() {
  const top = data.top;
  const heads = [
    { name: 'Run' },
    { name: 'Part of their scores' },
    { name: 'Returned', number: true },
    { name: 'relevant', number: true },
    { name: 'It alone', number: true },
    { name: 'relevant', number: true },
  ];
  const rows = data.runs.map((one) => [
    named(one.name),
    meter(one.share),
    number(one.top),
    number(one.relevant),
    number(one.alone),
    number(one.relevant_alone),
  ]);
  const total = Math.max(1, top.documents);
  const agreed = top.by_runs.map((one) => ({
    name: one.runs === 1 ? 'one run' : `${one.runs} runs`,
    part: one.documents / total,
    amount: `${percent(one.documents / total)}, ${one.documents ? percent(one.relevant / one.documents) : 'none'} relevant`,
  }));
  return section(
    'top',
    `Who contributed the first ${top.depth}`,
    table(
      `${counted(top.documents, 'document', 'documents')} in the first ${top.depth} of all queries, ` +
        `${number(top.relevant)} of them relevant, ${number(top.unjudged)} not judged.`,
      heads,
      rows,
    ),
    el('h3', null, 'Returned by'),
    barList(agreed, 'Documents by the number of runs that returned them'),
  );
}

function meter(share) {
  const fillNode = el('span', { class: 'fill' });
  fillNode.style.width = `${100 * share}%`;
  return el(
    'span',
    { class: 'meter' },
    el('span', { class: 'track', 'aria-hidden': 'true' }, fillNode),
    el('span', null, percent(share)),
  );
}

function queryCard(one) {
  const heads = [
    { name: 'Document' },
    { name: 'Judged', number: true },
    ...data.runs.map((run) => ({ name: run.name, number: true })),
    { name: 'rrf(60)', number: true },
  ];
  const rows = one.documents.map((doc, at) => [
    el('span', null, `${at + 1}. `, named(doc.name)),
    doc.label === null
      ? el('span', { class: 'soft' }, 'no')
      : el('span', { class: doc.label > 0 ? 'tag good' : 'tag' }, number(doc.label)),
    ...doc.places.map((place) => (place === null ? el('span', { class: 'soft' }, '\u2013') : number(place))),
    number(doc.rrf),
  ]);
  return el(
    'details',
    { class: 'fused' },
    el(
      'summary',
      null,
      named(one.name),
      el('span', { class: 'soft' }, ` ${fixed(one.rrf, 4)} \u2192 ${fixed(one.value, 4)} `),
      el('span', { class: one.value - one.rrf > 0 ? 'up' : 'down' }, change(one.value - one.rrf)),
    ),
    table('Places in each run; a dash where it did not return the document.', heads, rows, 'places'),
  );
}

function queriesSection() {
  const q = data.queries;
  const list = (title, entries, none) =>
    el('div', null, el('h3', null, title), entries.length ? entries.map(queryCard) : el('p', { class: 'note' }, none));
  const x = q.changes.map((_, i) => i + 1);
  return section(
    'queries',
    'Won and lost queries',
    x.length > 1
      ? lineChart({
          title: `${measure} minus that of rrf(60), query by query`,
          label: `Differences of ${measure} from rrf(60), best query first`,
          x,
          xName: 'query, best first',
          series: [{ name: 'this fusion', y: q.changes }],
          from0: true,
          hint: 'Point at the chart, or use the arrow keys, to read values.',
        })
      : null,
    q.undefined ? el('p', { class: 'note' }, `${counted(q.undefined, 'query has', 'queries have')} no value of ${measure}.`) : null,
    el(
      'div',
      { class: 'lists' },
      list('Won', q.won, 'None is better than with rrf(60).'),
      list('Lost', q.lost, 'None is worse than with rrf(60).'),
    ),
  );
}

function notesSection() {
  return section('notes', 'Notes', el('ul', { class: 'sentences' }, data.notes.map((line) => el('li', null, line))));
}

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
