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
