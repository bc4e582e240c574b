function dataSection() {
  const d = data.data;
  const facts = [['rows', number(d.rows)]];
  if (d.queries !== null)
    facts.push(
      ['queries', number(d.queries)],
      ['items a query', `${number(d.sizes[0])} to ${number(d.sizes[2])}, median ${number(d.sizes[1])}`],
    );
  facts.push([
    'labels',
    d.labels.length
      ? d.labels.map(([label, n]) => `${number(label)}: ${number(n)}`).join(', ')
      : `${number(d.label_range[2])} values from ${number(d.label_range[0])} to ${number(d.label_range[1])}`,
  ]);
  if (d.one_label && d.queries !== null)
    facts.push([
      'one label only',
      `${counted(d.one_label, 'query', 'queries')}, in which there is nothing to rank`,
    ]);
  if (d.queries === null && d.left_out.length)
    facts.push(['without a value', d.left_out.map(([name]) => name).join(', ')]);
  if (d.queries !== null) facts.push([
    'left out',
    d.left_out.length
      ? d.left_out.map(([name, n]) => `${name}: ${counted(n, 'query', 'queries')} without a value`).join(', ')
      : 'no query',
  ]);
  facts.push([
    'missing values',
    d.missing.length
      ? `in ${counted(d.missing.length, 'feature', 'features')}${d.never_missing ? `; ${counted(d.never_missing, 'feature has', 'features have')} none` : ''}`
      : 'none',
  ]);
  const out = [
    el(
      'dl',
      { class: 'facts' },
      facts.map(([name, value]) => [el('dt', null, name), el('dd', null, value)]),
    ),
  ];
  if (d.missing.length) {
    out.push(
      el(
        'details',
        { open: d.missing.length <= 10 },
        el('summary', null, 'Share of missing values by feature'),
        barList(
          d.missing.map(([name, rate]) => ({ name, part: rate, amount: percent(rate, 1) })),
          'Missing values by feature',
        ),
      ),
    );
  }
  if (d.notes.length)
    out.push(
      el('h3', null, 'Notes from reading'),
      el(
        'ul',
        { class: 'soft' },
        d.notes.map((note) => el('li', null, note)),
      ),
    );
  return section('data-notes', 'Data', out);
}

function modelSection() {
  const m = data.model;
  const facts = [
    ['ranker', m.kind],
    ['rounds', number(m.rounds)],
    ['features', number(m.features)],
    ...m.training.map(([name, value]) => [
      name === 'stopped' ? 'training ended' : `training ${name}`,
      typeof value === 'number' ? number(value) : value,
    ]),
  ];
  if (m.parameters.length)
    facts.push(['parameters', m.parameters.map(([name, value]) => `${name}=${value}`).join(', ')]);
  return section(
    'model',
    'Model',
    el(
      'dl',
      { class: 'facts' },
      facts.map(([name, value]) => [el('dt', null, name), el('dd', null, value)]),
    ),
  );
}

function boundsSection() {
  const { bounds, margins, curve } = data;
  const out = [];
  if (margins) {
    out.push(
      el(
        'p',
        null,
        `Of ${counted(margins.pairs, 'pair', 'pairs')} of these rows, ${percent(margins.wrong, 1)} are tied or in the wrong order: their margin is not above 0. ` +
          'The margin of a pair is the difference of its scores over the sum of all weights, from \u22121 to 1; the larger, the surer the order.',
      ),
    );
    const charts = el(
      'div',
      { class: 'split' },
      histogram({
        title: 'Margins of all pairs',
        label: 'Histogram of the margins of all pairs',
        share: true,
        edges: margins.edges,
        counts: margins.shares,
        xName: 'margin',
        marks: [
          { x: 0, name: '' },
          { x: margins.median, name: 'median' },
        ].filter((mark) => mark.x >= margins.edges[0] && mark.x <= margins.edges[margins.edges.length - 1]),
      }),
    );
    if (curve && curve.margin_stages.length > 1) {
      charts.append(
        lineChart({
          title: 'Margins by round',
          label: 'Quantiles of the margins by number of rounds',
          x: curve.margin_stages,
          xName: 'rounds',
          marks: [{ x: curve.kept, name: 'kept' }],
          series: Object.entries(curve.margins)
            .map(([name, y]) => ({ name: `${name} of pairs below`, y }))
            .reverse(),
        }),
      );
    }
    out.push(charts);
  }
  out.push(
    el('h3', null, 'What the training guarantees'),
    bounds.length
      ? el(
          'ul',
          { class: 'sentences' },
          bounds.map((b) => el('li', null, b.says)),
        )
      : el(
          'p',
          { class: 'soft' },
          'The model does not say how its training went, so there is no training bound to show.',
        ),
  );
  return section('bounds', 'Margins and bounds', out);
}

function cutoffControl() {
  const longest = Math.max(...[...data.lists.worst, ...data.lists.best].map((entry) => entry.length));
  const at = data.cutoffs || data.curves;
  cutoff.ks = at ? at.ks : Array.from({ length: Math.min(20, longest) }, (_, i) => i + 1);
  const asked = Number((/@(\d+)/.exec(data.measures[0].name) || [0, 10])[1]);
  let start = 0;
  cutoff.ks.forEach((k, i) => {
    if (k <= asked) start = i;
  });
  cutoff.k = cutoff.ks[start];
  const shown = el('output', { for: 'cutoff' }, number(cutoff.k));
  const slider = el('input', {
    type: 'range',
    id: 'cutoff',
    min: 0,
    max: cutoff.ks.length - 1,
    step: 1,
    value: start,
    'aria-valuetext': String(cutoff.k),
  });
  slider.addEventListener('input', () => {
    const k = cutoff.ks[Number(slider.value)];
    shown.textContent = number(k);
    slider.setAttribute('aria-valuetext', String(k));
    cutoff.set(k);
  });
  return el('div', { class: 'cutoff' }, el('label', { for: 'cutoff' }, 'Cut-off'), slider, shown);
}

const control = cutoffControl();
const sections = [
  summarySection(),
  measuresSection(),
  ...(data.curves ? [curvesSection()] : []),
  learningSection(),
  featuresSection(),
  queriesSection(),
  tiesSection(),
  boundsSection(),
  dataSection(),
  modelSection(),
];
const links = sections.map((one) =>
  el(
    'li',
    null,
    el(
      'a',
      { href: `#${one.id}` },
      one
        .querySelector('h2')
        .textContent.replace('Best and worst queries', 'Queries')
        .replace(' curve', '')
        .replace(' and bounds', ''),
    ),
  ),
);
document
  .getElementById('app')
  .append(
    el(
      'header',
      null,
      el(
        'div',
        null,
        el('h1', null, named(data.title)),
        data.subtitle ? el('p', { class: 'subtitle' }, data.subtitle) : null,
      ),
      themeButton(),
    ),
    el('nav', { class: 'bar', 'aria-label': 'Sections' }, el('div', null, el('ul', null, links), control)),
    el('main', { id: 'content' }, sections),
    el(
      'footer',
      null,
      `Made by crucial ${data.version}. This page is complete in itself and fetches nothing.`,
    ),
  );
document.documentElement.dataset.ready = 'yes';
