const data = JSON.parse(document.getElementById('data').textContent);

// The cut-off that the reader chose, and who wants to know.
const cutoff = {
  k: 10,
  ks: [10],
  watchers: [],
  watch(action) {
    this.watchers.push(action);
    action(this.k);
  },
  set(k) {
    this.k = k;
    for (const action of this.watchers) action(k);
  },
};

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

// Curves of all rows as one list, where there are no queries. They all follow from how much the
// first rows contain.
function curvesSection() {
  const c = data.curves;
  const two = c.labels === 2;
  const charts = el('div', { class: 'split' });
  const text = `The labels have ${number(c.labels)} values; ROC, precision-recall and calibration need two.`;
  if (two) charts.append(rocChart(c), precisionChart(c));
  charts.append(gainChart(c), liftChart(c));
  if (two) charts.append(calibrationChart(c));
  return section('curves', 'Curves', two ? firstRows(c) : el('p', { class: 'soft' }, text), charts);
}

// The first k rows in one sentence, for the chosen k.
function firstRows(c) {
  const text = el('p', { id: 'first-rows', class: 'verdict', 'aria-live': 'polite' });
  cutoff.watch((k) => {
    const i = c.ks.indexOf(k);
    if (i < 0) return;
    const found = c.found[c.at[i]];
    text.textContent =
      `The first ${counted(k, 'row', 'rows')} of ${number(c.rows)}, with scores from ${number(c.score[i])} on: ` +
      `${number(found)} of label ${number(c.label)} (precision ${percent(found / k, 1)}), ` +
      `${percent(found / c.total, 1)} of all ${number(c.total)} (recall), ` +
      `${percent((k - found) / (c.rows - c.total), 1)} of the other rows, ` +
      `lift ${number(found / k / (c.total / c.rows), 3)}.`;
  });
  return text;
}

// A chart over places in the list, marked at the chosen cut-off. `from` is the first place it has.
function curveChart(c, from, options) {
  const figure = lineChart({ from0: true, ...options });
  cutoff.watch((k) => {
    const i = c.ks.indexOf(k);
    if (i >= 0) figure.point(c.at[i] - from);
  });
  return figure;
}

function rocChart(c) {
  const { auc, low, high, ks } = c.roc;
  const span = low === null ? '' : ` (95% interval ${fixed(low)} to ${fixed(high)})`;
  const others = c.seen.map((n, i) => (n - c.found[i]) / (c.rows - c.total));
  return curveChart(c, 0, {
    title: `ROC: AUC ${fixed(auc, 4)}${span}, KS ${fixed(ks)}`,
    label: `Share of label ${number(c.label)} over share of the other rows`,
    x: others,
    xName: 'share of the other rows',
    series: [
      { name: `share of label ${number(c.label)}`, y: c.found.map((n) => n / c.total) },
      { name: 'random order', y: others },
    ],
  });
}

function precisionChart(c) {
  const [seen, found] = [c.seen.slice(1), c.found.slice(1)];
  return curveChart(c, 1, {
    title: `Precision and recall: average precision ${fixed(c.average_precision, 4)}`,
    label: 'Precision over recall',
    x: found.map((n) => n / c.total),
    xName: 'recall',
    series: [
      { name: 'precision', y: found.map((n, i) => n / seen[i]) },
      { name: 'random order', y: seen.map(() => c.total / c.rows) },
    ],
  });
}

function gainChart(c) {
  const share = c.seen.map((n) => n / c.rows);
  return curveChart(c, 0, {
    title: 'Gain',
    label: 'Share found over share of rows',
    x: share,
    xName: 'share of rows',
    series: [
      { name: 'share found', y: c.found.map((n) => n / c.total) },
      { name: 'best order', y: c.best.map((n) => n / c.total) },
      { name: 'random order', y: share },
    ],
  });
}

function liftChart(c) {
  const [seen, found] = [c.seen.slice(1), c.found.slice(1)];
  return curveChart(c, 1, {
    title: 'Lift',
    label: 'Lift over share of rows',
    x: seen.map((n) => n / c.rows),
    xName: 'share of rows',
    series: [
      { name: 'lift', y: found.map((n, i) => n / seen[i] / (c.total / c.rows)) },
      { name: 'random order', y: seen.map(() => 1) },
    ],
  });
}

function calibrationChart(c) {
  const { expected, observed, low, high, brier, error, source } = c.calibration;
  const figure = lineChart({
    title: `Calibration: Brier ${fixed(brier, 4)}, mean difference ${fixed(error)}`,
    label: `Observed over expected share of label ${number(c.label)}`,
    x: expected,
    xName: 'expected share',
    from0: true,
    series: [
      { name: 'observed share', y: observed, low, high },
      { name: 'exact', y: expected },
    ],
  });
  const text = `${source[0].toUpperCase()}${source.slice(1)}. The band is the 95% interval of each bin.`;
  figure.append(el('p', { class: 'note' }, text));
  return figure;
}

// What a feature adds, step by step. Steps are equally wide; grey bars are shares of the rows.
function shapeChart(shape) {
  const { edges, values, share } = shape;
  const host = el('div', { class: 'chart' });
  const cells = values.length + 1; // the first one is for missing values
  const text = (i) => {
    if (i === 0) return `missing: adds ${signed(shape.missing)}, ${percent(shape.missing_share, 1)} of rows`;
    const c = i - 1;
    const where = shape.categories
      ? shape.categories[c]
      : edges.length === 0
        ? 'any value'
        : c === 0
          ? `up to ${number(edges[0])}`
          : c === edges.length
            ? `above ${number(edges[c - 1])}`
            : `above ${number(edges[c - 1])} up to ${number(edges[c])}`;
    return `${where}: adds ${shape.even ? 'about ' : ''}${signed(values[c])}, ${percent(share[c], 1)} of rows`;
  };
  const range = shape.categories
    ? counted(values.length, 'category', 'categories')
    : edges.length
      ? `steps from ${number(edges[0])} to ${number(edges[edges.length - 1])}`
      : 'the same for every value';
  const hint =
    `${range}${shape.even ? ', rising evenly' : ''}; missing ${signed(shape.missing)}` +
    (shape.thinned ? `; drawn at ${values.length} of ${shape.thinned} ${shape.categories ? 'categories' : 'steps'}` : '');
  const readings = reader(cells, hint, text);
  chart(host, 120, (width, height) => {
    const left = 40,
      right = 4,
      top = 8,
      bottom = 8,
      gap = 8,
      first = 14;
    const all = [...values, shape.missing];
    let low = Math.min(...all),
      high = Math.max(...all);
    if (low === high) {
      low -= 0.5;
      high += 0.5;
    }
    const pad = (high - low) * 0.06;
    const py = (v) => top + ((high + pad - v) / (high - low + 2 * pad)) * (height - top - bottom);
    const begin = left + first + gap;
    const wide = (width - right - begin) / values.length;
    const px = (c) => begin + c * wide;
    const most = Math.max(...share, shape.missing_share, 1e-9);
    const tall = (part) => (part / most) * (height - top - bottom) * 0.55;
    const draw = canvas(width, height, `What ${shape.name} adds, step by step`);
    draw.append(
      svg('text', { x: left - 5, y: py(high) + 4, 'text-anchor': 'end' }, number(high, 2)),
      svg('text', { x: left - 5, y: py(low) + 4, 'text-anchor': 'end' }, number(low, 2)),
      svg('line', { class: 'grid', x1: left, x2: width - right, y1: py(high), y2: py(high) }),
      svg('line', { class: 'grid', x1: left, x2: width - right, y1: py(low), y2: py(low) }),
    );
    share.forEach((part, c) =>
      draw.append(
        svg('rect', {
          class: 'bar share',
          x: px(c),
          width: Math.max(0.5, wide - 0.5),
          y: height - bottom - tall(part),
          height: tall(part),
        }),
      ),
    );
    draw.append(
      svg('rect', {
        class: 'bar share',
        x: left,
        width: first,
        y: height - bottom - tall(shape.missing_share),
        height: tall(shape.missing_share),
      }),
      svg('line', {
        class: 'silent',
        x1: left,
        x2: left + first,
        y1: py(shape.missing),
        y2: py(shape.missing),
      }),
    );
    const points = values.flatMap((v, c) => [`${px(c)},${py(v)}`, `${px(c + 1)},${py(v)}`]);
    draw.append(svg('polyline', { class: 'line s1', points: points.join(' ') }));
    const cursor = svg('circle', { class: 's2', r: 4, visibility: 'hidden' });
    draw.append(cursor);
    const mark = (i) =>
      fill(
        cursor,
        {
          visibility: 'visible',
          cx: i === 0 ? left + first / 2 : px(i - 0.5),
          cy: py(i === 0 ? shape.missing : values[i - 1]),
        },
        [],
      );
    const find = (place) =>
      place < begin - gap / 2
        ? 0
        : Math.max(1, Math.min(values.length, 1 + Math.floor((place - begin) / wide)));
    return readings.connect(draw, find, mark);
  });
  return el(
    'figure',
    null,
    el(
      'figcaption',
      null,
      named(shape.name),
      el('span', null, `${percent(shape.weight, 1)} \u00b7 ${shape.direction}`),
    ),
    host,
    readings.node,
  );
}

// What two features add together: a table, the first feature from left to right.
function pairChart(pair) {
  const [across, up] = pair.edges;
  const { values } = pair;
  const host = el('div', { class: 'chart' });
  const rows = up.length + 1;
  const where = (name, edges, c) =>
    edges.length === 0
      ? `any ${name}`
      : c === 0
        ? `${name} up to ${number(edges[0])}`
        : c === edges.length
          ? `${name} above ${number(edges[c - 1])}`
          : `${name} above ${number(edges[c - 1])} up to ${number(edges[c])}`;
  const text = (i) => {
    const a = Math.floor(i / rows),
      b = i % rows;
    return `${where(pair.names[0], across, a)}, ${where(pair.names[1], up, b)}: adds ${signed(values[a][b])}`;
  };
  const most = Math.max(...values.flat().map(Math.abs), 1e-300);
  const hint = `adds up to ${number(most, 3)}; blue adds, orange takes away${pair.thinned ? '; not every cell is drawn' : ''}`;
  const readings = reader(values.length * rows, hint, text);
  chart(host, 180, (width, height) => {
    const left = 14,
      bottom = 14;
    const wide = (width - left) / values.length;
    const tall = (height - bottom) / rows;
    const draw = canvas(width, height, `What ${pair.names[0]} and ${pair.names[1]} add together`);
    const cells = [];
    values.forEach((column, a) =>
      column.forEach((value, b) => {
        const cell = svg('rect', {
          class: `cell ${value >= 0 ? 's1' : 's2'}`,
          x: left + a * wide,
          y: height - bottom - (b + 1) * tall,
          width: wide + 0.3,
          height: tall + 0.3,
          'fill-opacity': Math.abs(value) / most,
        });
        cells.push(cell);
        draw.append(cell);
      }),
    );
    draw.append(
      svg('text', { x: left, y: height - 2 }, `${pair.names[0]} \u2192`),
      svg('text', { x: 10, y: height - bottom, transform: `rotate(-90 10 ${height - bottom})` }, `${pair.names[1]} \u2192`),
    );
    let last = null;
    const mark = (i) => {
      if (last) last.classList.remove('marked');
      last = cells[i];
      last.classList.add('marked');
    };
    let y = height / 2;
    draw.addEventListener('pointermove', (event) => (y = event.clientY - draw.getBoundingClientRect().top), true);
    const clamp = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
    const find = (x) =>
      clamp((x - left) / wide, values.length) * rows + clamp((height - bottom - y) / tall, rows);
    return readings.connect(draw, find, mark);
  });
  return el(
    'figure',
    null,
    el('figcaption', null, named(pair.names.join(' with ')), el('span', null, percent(pair.weight, 1))),
    host,
    readings.node,
  );
}

function pairsView(shapes) {
  if (!shapes.n_pairs) return [];
  const rest = shapes.n_pairs - shapes.pairs.length;
  return [
    el('h3', null, `${counted(shapes.n_pairs, 'pair of features acts', 'pairs of features act')} together`),
    el(
      'p',
      { class: 'soft' },
      'What two features add beyond what each adds alone; cells are equally wide. The percentage: share of the gains of all splits.',
    ),
    el(
      'div',
      { class: 'shapes', id: 'pairs' },
      shapes.pairs.map((pair) => pairChart(pair)),
    ),
    rest ? el('p', { class: 'soft' }, `${counted(rest, 'weaker pair is', 'weaker pairs are')} not drawn.`) : null,
  ];
}

// Trees that combine many features have no functions to draw: gains, and the first trees as text.
function treesView(trees) {
  const most = Math.max(...trees.features.map(([, share]) => share), 1e-300);
  return [
    el(
      'p',
      { class: 'soft' },
      `${counted(trees.trees, 'tree combines', 'trees combine')} up to ${trees.order} features each, so that no feature adds something by itself. ` +
        'Below: the share of each feature in the gains of all splits. Trees of at most two features (interactions=2) would have curves and heat maps here.',
    ),
    barList(
      trees.features.map(([name, share]) => ({ name, part: share / most, amount: percent(share, 1) })),
      'Gains by feature',
    ),
    el(
      'details',
      { id: 'trees' },
      el('summary', null, `The first ${counted(trees.first.length, 'tree', 'trees')}`),
      trees.first.map((lines) => el('pre', null, lines)),
    ),
  ];
}

function featuresSection() {
  const out = [];
  const shapes = data.shapes;
  if (data.trees) {
    out.push(treesView(data.trees));
  } else if (!shapes) {
    out.push(el('p', { class: 'soft' }, data.lists.reason));
  } else {
    const grid = el('div', { class: 'shapes' });
    const made = new Map();
    const few = 9;
    let all = shapes.features.length <= few;
    const search = el('input', {
      type: 'search',
      placeholder: 'Find a feature',
      'aria-label': 'Find a feature by name',
    });
    const more = el(
      'button',
      { type: 'button', id: 'all-features', 'aria-pressed': 'false' },
      `Show all ${shapes.features.length}`,
    );
    const status = el('span', { class: 'soft', 'aria-live': 'polite', id: 'shown-features' });
    const paint = () => {
      const word = search.value.trim().toLowerCase();
      const found = shapes.features
        .map((_, i) => i)
        .filter((i) => shapes.features[i].name.toLowerCase().includes(word));
      const shown = all || word ? found : found.slice(0, few);
      grid.replaceChildren(
        ...shown.map((i) => {
          if (!made.has(i)) made.set(i, shapeChart(shapes.features[i]));
          return made.get(i);
        }),
      );
      status.textContent = `${shown.length} of ${counted(shapes.features.length, 'feature', 'features')} shown, heaviest first`;
    };
    search.addEventListener('input', paint);
    more.addEventListener('click', () => {
      all = !all;
      more.setAttribute('aria-pressed', String(all));
      paint();
    });
    out.push(
      el(
        'p',
        { class: 'soft' },
        'What each feature adds to a score, from its lowest values at the left to its highest; every step is equally wide. Only differences count. Grey bars: share of the rows. The short line at the left: what a missing value adds. The percentage: ' +
          shapes.importance +
          '.',
      ),
      el('div', { class: 'tools' }, shapes.features.length > few ? [search, more] : null, status),
      grid,
    );
    paint();
    out.push(pairsView(shapes));
    if (shapes.not_drawn)
      out.push(
        el(
          'p',
          { class: 'soft' },
          `${counted(shapes.not_drawn, 'lighter feature is', 'lighter features are')} not drawn.`,
        ),
      );
    if (shapes.n_unused) {
      const rest = shapes.n_unused - shapes.unused.length;
      out.push(
        el(
          'details',
          null,
          el('summary', null, `${counted(shapes.n_unused, 'feature', 'features')} never mattered`),
          el(
            'p',
            { class: 'soft' },
            shapes.unused.map((name, i) => [i ? ', ' : '', named(name)]),
            rest ? ` and ${rest} more` : '',
          ),
        ),
      );
    }
  }
  const lost = data.permutation;
  if (lost && lost.features.length) {
    const most = Math.max(...lost.features.map((f) => Math.abs(f.loss)), 1e-300);
    out.push(
      el(
        'h3',
        null,
        `What is lost without it: ${lost.measure} when a feature\u2019s values change places${data.data.queries === null ? '' : ' inside queries'}`,
      ),
      barList(
        lost.features.map((f) => ({
          name: f.name,
          part: f.loss / most,
          amount: `${fixed(f.loss, 4)}${f.spread === null ? '' : ` \u00b1 ${fixed(f.spread, 4)}`}`,
        })),
        'Loss by feature',
      ),
      el(
        'p',
        { class: 'note' },
        `Mean and deviation of three shuffles, on ${counted(lost.rows, 'row', 'rows')}; ${lost.measure} before: ${fixed(lost.baseline, 4)}.`,
      ),
    );
  }
  return section('features', 'Features', out);
}

function queriesSection() {
  const lists = data.lists;
  const entries = [...lists.worst, ...lists.best];
  const body = el('div', { class: 'query' });
  const buttons = [];
  const choose = (number) => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === number)));
    body.replaceChildren(...queryView(entries[number]));
  };
  const chips = (title, from, side) =>
    side.length
      ? el(
          'fieldset',
          { class: 'chips' },
          el('legend', null, title),
          side.map((entry, i) => {
            const button = el(
              'button',
              { type: 'button', 'aria-pressed': 'false', on: { click: () => choose(from + i) } },
              named(entry.qid),
              el('span', null, fixed(entry.value)),
            );
            buttons.push(button);
            return button;
          }),
        )
      : null;
  const many = entries.length > 1;
  const out = section(
    'queries',
    many ? 'Best and worst queries' : 'The list',
    many ? chips(`Worst by ${lists.measure}`, 0, lists.worst) : null,
    many ? chips(`Best by ${lists.measure}`, lists.worst.length, lists.best) : null,
    body,
  );
  if (!many) buttons.push(el('button'));
  choose(0);
  return out;
}

function picture(kind, index, name) {
  return index === null
    ? null
    : el('img', { class: 'picture', src: data.lists[kind][index], alt: `picture of ${name}` });
}

function queryView(entry) {
  const pair = [...entry.pair];
  const why = el('div', { class: 'why', id: 'why', 'aria-live': 'polite' });
  const rows = [];
  const hasPictures = entry.items.some((item) => item.picture !== null);
  const exact = data.lists.exact;
  const labels = entry.items.map((item) => item.label);
  const lowest = Math.min(...labels, 0);
  const body = el('tbody');
  const columns = 4 + (hasPictures ? 1 : 0) + (exact ? 2 : 0);
  let before = 0;
  entry.items.forEach((item, i) => {
    if (item.place > before + 1) {
      body.append(
        el(
          'tr',
          { class: 'gap' },
          el('td', { colspan: columns }, `${counted(item.place - before - 1, 'item', 'items')} not shown`),
        ),
      );
    }
    before = item.place;
    const pick = (which) =>
      el(
        'td',
        { class: 'pick' },
        el('input', {
          type: 'radio',
          name: 'AB'[which],
          'aria-label': `compare ${item.id} as ${'AB'[which]}`,
          checked: pair[which] === i,
          on: {
            change: () => {
              pair[which] = i;
              paint();
            },
          },
        }),
      );
    const row = el(
      'tr',
      { 'data-place': item.place },
      exact ? [pick(0), pick(1)] : null,
      el('td', { class: 'number' }, item.place),
      hasPictures ? el('td', null, picture('pictures', item.picture, item.id)) : null,
      el('td', { class: 'id' }, named(item.id)),
      el('td', null, el('span', { class: `grade${item.label > lowest ? ' good' : ''}` }, number(item.label))),
      el('td', { class: 'number' }, number(item.score)),
    );
    rows.push(row);
    body.append(row);
  });
  const head = (name, kind) => el('th', { scope: 'col', class: kind }, name);
  const list = el(
    'div',
    { class: 'scroll' },
    el(
      'table',
      { class: 'list' },
      el(
        'thead',
        null,
        el(
          'tr',
          null,
          exact ? [head('A', 'pick'), head('B', 'pick')] : null,
          head('place', 'number'),
          hasPictures ? head('') : null,
          head('item'),
          head('label'),
          head('score', 'number'),
        ),
      ),
      body,
    ),
  );
  const paint = () => {
    rows.forEach((row, i) => row.classList.toggle('picked', pair.includes(i)));
    why.replaceChildren(...whyView(entry, pair[0], pair[1]));
  };
  const cut = (k) =>
    rows.forEach((row, i) => {
      const place = entry.items[i].place;
      row.classList.toggle('below', place > k);
      row.classList.toggle('cut', place > k && (i === 0 || entry.items[i - 1].place <= k));
    });
  cutoff.watchers = cutoff.watchers.filter((one) => one !== queryView.last);
  queryView.last = cut;
  cutoff.watch(cut);
  if (exact) paint();
  else why.replaceChildren(el('p', { class: 'soft' }, data.lists.reason));
  const about = el(
    'div',
    { class: 'about' },
    picture('query_pictures', entry.picture, entry.qid),
    el(
      'p',
      null,
      el('strong', null, named(entry.qid)),
      ` \u2014 ${data.lists.measure} ${fixed(entry.value)}; ` +
        `${counted(entry.length, 'item', 'items')}, ${counted(entry.relevant, 'with a label', 'with labels')} above 0`,
    ),
  );
  return [el('div', null, about, list), why];
}

// The reasons of a pair in a ranker with trees of several features: made for i < j, in rows.
function jointParts(entry, i, j) {
  const n = entry.items.length;
  const [low, high] = i < j ? [i, j] : [j, i];
  const sign = i < j ? 1 : -1;
  const found = i === j ? [] : entry.reasons[low * n - (low * (low + 1)) / 2 + high - low - 1];
  return found.map(([f, part]) => ({
    name: f < 0 ? 'other features' : data.lists.features[f],
    a: f < 0 ? null : entry.items[i].x[f],
    b: f < 0 ? null : entry.items[j].x[f],
    part: sign * part,
    none: f < 0,
  }));
}

// Why A stands above B: what each feature adds for A minus what it adds for B.
function whyView(entry, i, j) {
  const [a, b] = [entry.items[i], entry.items[j]];
  const { features, levels } = data.lists;
  const joint = Boolean(entry.reasons);
  const parts = joint
    ? jointParts(entry, i, j)
    : features.map((name, f) => ({
        name,
        a: a.x[f],
        b: b.x[f],
        part: levels[f][a.c[f]] - levels[f][b.c[f]],
      }));
  const margin = a.score - b.score;
  const differ = parts.filter((p) => p.part !== 0).sort((p, q) => Math.abs(q.part) - Math.abs(p.part));
  const stands = margin > 0 ? 'stands above' : margin < 0 ? 'stands below' : 'is level with';
  const wanted = Math.sign(a.label - b.label);
  const verdict =
    a === b
      ? 'Choose two different items.'
      : wanted === 0
        ? 'Both have the same label: either order is right.'
        : margin === 0
          ? 'Their labels differ: a tie, which counts half.'
          : Math.sign(margin) === wanted
            ? 'By their labels this order is right.'
            : 'By their labels this order is wrong.';
  const mood =
    a === b || wanted === 0 || margin === 0 ? '' : Math.sign(margin) === wanted ? ' right' : ' wrong';
  const shown = differ.slice(0, 12);
  const rest = differ.slice(12);
  if (rest.length)
    shown.push({
      name: counted(rest.length, 'other feature', 'other features'),
      part: rest.reduce((sum, p) => sum + p.part, 0),
      none: true,
    });
  const most = Math.max(...shown.map((p) => Math.abs(p.part)), 1e-300);
  const value = (v) => (v === null ? 'missing' : number(v));
  const out = [
    el(
      'p',
      null,
      el('strong', null, 'A '),
      named(a.id),
      ` (place ${a.place}, label ${number(a.label)}) ${stands} `,
      el('strong', null, 'B '),
      named(b.id),
      ` (place ${b.place}, label ${number(b.label)})`,
      margin ? ` by ${number(Math.abs(margin))}.` : '.',
    ),
    el('p', { class: `verdict${mood}` }, verdict),
  ];
  if (a === b) return out;
  const bars = el('div', { class: 'reasons', role: 'list', 'aria-label': 'Reasons by feature' });
  for (const p of shown) {
    const bar = el('i', { class: p.part > 0 ? 'up' : 'down' });
    bar.style.width = `${(Math.abs(p.part) / most) * 50}%`;
    bars.append(
      el(
        'div',
        { class: 'row', role: 'listitem' },
        el('span', { class: 'name' }, named(p.name)),
        el('span', { class: 'two', 'aria-hidden': 'true' }, bar),
        el('span', { class: 'amount' }, signed(p.part)),
        p.none ? null : el('span', { class: 'said' }, `${value(p.a)} against ${value(p.b)}`),
      ),
    );
  }
  bars.append(
    el(
      'div',
      { class: 'row', role: 'listitem' },
      el('span', { class: 'name total' }, 'margin'),
      el('span', { class: 'total' }, '\u00a0'),
      el('span', { class: 'amount total', id: 'margin' }, margin ? signed(margin) : '0'),
    ),
  );
  const same = joint ? 0 : features.length - differ.length;
  out.push(
    bars,
    el(
      'p',
      { class: 'note' },
      `Blue speaks for A, orange for B; together they are exactly the margin.${joint ? ' What several features do together in a tree is shared among them (Shapley values of the change from B to A).' : ''}${same ? ` ${counted(same, 'feature makes', 'features make')} no difference.` : ''}`,
    ),
  );
  return out;
}

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
