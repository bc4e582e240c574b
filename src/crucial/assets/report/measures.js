function summarySection() {
  const { tiles, sentences } = data.summary;
  return section(
    'summary',
    'Summary',
    el(
      'ul',
      { class: 'tiles' },
      tiles.map((tile) =>
        el(
          'li',
          null,
          el('span', { class: 'value' }, tile.value),
          el('span', { class: 'label' }, tile.label),
          el('span', { class: 'note' }, tile.note),
        ),
      ),
    ),
    el(
      'ul',
      { class: 'sentences' },
      sentences.map((text) => el('li', null, text)),
    ),
  );
}

function measuresSection() {
  const byRow = data.intervals.unit === 'row';
  const rows = data.measures.map((m) => [
    el('strong', null, named(m.name)),
    fixed(m.value, 4),
    m.interval,
    fixed(m.random, 4),
    ...(byRow ? [] : [number(m.queries), number(m.empty)]),
  ]);
  const heads = [
    { name: 'measure' },
    { name: 'value', number: true },
    { name: '95% interval', number: true },
    { name: 'random order', number: true },
    ...(byRow
      ? []
      : [
          { name: 'queries', number: true },
          { name: 'left out', number: true },
        ]),
  ];
  const out = [
    table(
      `${byRow ? 'All rows as one list.' : 'Means over queries.'} Equal scores count by the exact expectation over their random order.`,
      heads,
      rows,
    ),
    el(
      'ul',
      { class: 'soft' },
      data.measures.map((m) =>
        el('li', null, `${m.name}: ${m.description}${m.higher ? '' : '; less is better'}`),
      ),
      data.intervals.notes.map((text) => el('li', null, text)),
    ),
  ];
  const charts = el('div', { class: 'split' });
  if (data.cutoffs) charts.append(cutoffChart());
  if (data.spread.counts.length) {
    const name = data.measures[0].name;
    charts.append(
      histogram({
        title: `${name}, query by query`,
        label: `Histogram of ${name} over queries`,
        edges: data.spread.edges,
        counts: data.spread.counts,
        xName: name,
        marks: [{ x: data.spread.median, name: 'median' }],
      }),
    );
  }
  return section('measures', 'Measures', out, charts);
}

function cutoffChart() {
  const { ks, curves } = data.cutoffs;
  const figure = lineChart({
    title: 'By cut-off',
    label: 'Measures at every cut-off',
    x: ks,
    xName: 'cut-off',
    from0: true,
    log: ks[ks.length - 1] > 100,
    series: curves.map((c) => ({ name: c.name, y: c.values, low: c.low, high: c.high })),
  });
  const chosen = el('p', { id: 'at-cutoff', class: 'chosen', 'aria-live': 'polite' });
  figure.querySelector('figcaption').after(chosen);
  cutoff.watch((k) => {
    const i = ks.indexOf(k);
    if (i < 0) return;
    figure.point(i);
    chosen.textContent = curves
      .map(
        (c) =>
          `${c.name}@${k} ${fixed(c.values[i], 4)}` +
          (c.low[i] === null ? '' : ` (${fixed(c.low[i])} to ${fixed(c.high[i])})`),
      )
      .join(' \u00b7 ');
  });
  return figure;
}

function learningSection() {
  const curve = data.curve;
  if (!curve)
    return section(
      'learning',
      'Learning',
      el('p', { class: 'soft' }, 'This ranker has no rounds to look at.'),
    );
  const out = [];
  const marks = [{ x: curve.kept, name: 'kept' }];
  const here = Object.entries(curve.measured);
  const charts = el('div', { class: 'split' });
  charts.append(
    lineChart({
      title: 'On these rows, after so many rounds',
      label: 'Measures on the given rows by number of rounds',
      x: curve.stages,
      xName: 'rounds',
      marks,
      series: here.map(([name, y]) => ({ name, y })),
    }),
  );
  const told = Object.entries(curve.training);
  const own = told.filter(([name]) => !curve.watched.includes(name));
  const names = {
    loss: 'E1 (bound on R1)',
    r1: 'R1',
    r2: 'R2',
    e2: 'E2 (bound on R2)',
    E2: 'E2 (bound on R2)',
  };
  if (own.length) {
    charts.append(
      lineChart({
        title: 'On the training pairs',
        label: 'Bounds and risks on the training pairs by round',
        x: curve.rounds,
        xName: 'round',
        marks,
        series: own.map(([name, y]) => ({ name: Object.hasOwn(names, name) ? names[name] : name, y })),
      }),
    );
  }
  const watched = told.filter(([name]) => curve.watched.includes(name));
  if (watched.length) {
    charts.append(
      lineChart({
        title: 'What early stopping saw',
        label: 'Measures on the eval set by round',
        x: curve.rounds,
        xName: 'round',
        marks,
        series: watched.map(([name, y]) => ({ name: `${name} (eval)`, y })),
      }),
    );
  }
  out.push(
    el(
      'p',
      { class: 'soft' },
      `${counted(curve.kept, 'round is', 'rounds are')} kept${curve.stopped ? `; the training ended with: ${curve.stopped}` : ''}.` +
        (own.length || watched.length
          ? ''
          : ' The trace of the training is not at hand; a report with it also shows bounds and risks.'),
    ),
  );
  return section('learning', 'Learning curve', out, charts);
}

function words(ties) {
  return ties.pairs === null
    ? null
    : el(
        'p',
        null,
        `Of the pairs that should be ordered, ${percent(ties.pairs, 2)} are tied and ${percent(ties.wrong, 2)} stand in the wrong order.`,
      );
}

function tiesSection() {
  const ties = data.ties;
  if (ties.items === 0)
    return section('ties', 'Ties', el('p', null, 'No two items of a list share a score.'), words(ties));
  const rows = ties.measures.map((m) => [
    el('strong', null, named(m.name)),
    fixed(m.unlucky, 4),
    fixed(m.expected, 4),
    fixed(m.trec, 4),
    fixed(m.lucky, 4),
  ]);
  const said = [
    `${counted(ties.items, 'item shares', 'items share')} a score with another item of the same list (${percent(ties.share, 1)}); the largest group has ${counted(ties.largest, 'item', 'items')}.`,
  ];
  return section(
    'ties',
    'Ties',
    el('p', null, said.join(' ')),
    words(ties),
    table(
      'What the order among equal scores does to each measure.',
      [
        { name: 'measure' },
        { name: 'unluckiest', number: true },
        { name: 'expected', number: true },
        { name: 'as trec_eval', number: true },
        { name: 'luckiest', number: true },
      ],
      rows,
    ),
  );
}
