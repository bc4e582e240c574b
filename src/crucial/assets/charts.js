// Charts are drawn in pixels and drawn again when their width changes, so that text stays readable.
function chart(host, height, draw) {
  let width = 0;
  const paint = () => {
    const now = Math.floor(host.clientWidth);
    if (now < 40 || now === width) return;
    width = now;
    host.replaceChildren(draw(width, height));
  };
  new ResizeObserver(paint).observe(host);
}

function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) {
    out.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  }
  return out;
}

function keys(node, move) {
  node.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(by);
  });
}

function canvas(width, height, label) {
  const size = { viewBox: `0 0 ${width} ${height}`, height };
  return svg('svg', { ...size, role: 'img', tabindex: 0, 'aria-label': label });
}

// Values read off a chart with the pointer or the arrow keys, one of `count` places at a time.
// text(i) is what is shown of place i
function reader(count, hint, text) {
  const node = el('p', { class: 'readout', 'aria-live': 'polite', 'data-hint': hint });
  const self = { node, at: -1, mark: () => {} };
  const show = (i) => {
    self.at = i;
    node.textContent = text(i);
    self.mark(i);
  };
  // find(x) is the place at a pixel, mark(i) marks it in the drawing
  self.connect = (draw, find, mark) => {
    self.mark = mark;
    const pick = (event) => show(find(event.clientX - draw.getBoundingClientRect().left));
    draw.addEventListener('pointermove', pick);
    draw.addEventListener('pointerdown', pick);
    keys(draw, (by) => {
      const from = self.at < 0 ? (by > 0 ? -1 : count) : self.at;
      show(Math.max(0, Math.min(count - 1, from + by)));
    });
    if (self.at >= 0) mark(self.at);
    return draw;
  };
  return self;
}

// Vertical lines with names, which are to the left of their line from `turn` on.
function markLines(draw, marks, px, top, floor, turn) {
  for (const { x, name } of marks) {
    const place = px(x);
    const late = place > turn;
    draw.append(
      svg('line', { class: 'mark', x1: place, x2: place, y1: top - 16, y2: floor }),
      svg(
        'text',
        { x: place + (late ? -5 : 5), y: top - 7, 'text-anchor': late ? 'end' : 'start' },
        name,
      ),
    );
  }
}

// Lines over x, with bands; hovering, touching or the arrow keys read values off.
// options: label, x, xName, series [{name, y, low, high}], marks [{x, name}], from0, log (of x)
function lineChart(options) {
  const { x, series } = options;
  const host = el('div', { class: 'chart' });
  const hint = options.hint || 'Point at the chart, or use the arrow keys, to read values.';
  const values = reader(x.length, hint, (i) => {
    const parts = series
      .filter((s) => s.y[i] !== null && s.y[i] !== undefined)
      .map((s) => {
        const span = s.low && s.low[i] !== null ? ` (${fixed(s.low[i])} to ${fixed(s.high[i])})` : '';
        return `${s.name} ${number(s.y[i])}${span}`;
      });
    return `${options.xName} ${number(x[i])}: ${parts.join(' \u00b7 ')}`;
  });
  const all = series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])]).filter((v) => v !== null);
  let low = Math.min(...all),
    high = Math.max(...all);
  if (options.from0) low = Math.min(0, low);
  if (low === high) {
    low -= 0.5;
    high += 0.5;
  }
  const pad = (high - low) * 0.05;
  if (!(options.from0 && low === 0)) low -= pad;
  high += pad;
  chart(host, options.height || 230, (width, height) => {
    const left = 46,
      right = 14,
      top = 20,
      bottom = 34;
    const x0 = x[0],
      x1 = x[x.length - 1];
    const to = options.log ? Math.log10 : (v) => v;
    const px = (v) =>
      left + (x1 === x0 ? 0.5 : (to(v) - to(x0)) / (to(x1) - to(x0))) * (width - left - right);
    const py = (v) => top + ((high - v) / (high - low)) * (height - top - bottom);
    const draw = canvas(width, height, options.label);
    for (const t of ticks(low, high, 4)) {
      draw.append(
        svg('line', { class: 'grid', x1: left, x2: width - right, y1: py(t), y2: py(t) }),
        svg('text', { x: left - 7, y: py(t) + 4, 'text-anchor': 'end' }, number(t, 3)),
      );
    }
    const places = options.log
      ? [1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7].filter((v) => v >= x0 && v <= x1)
      : ticks(x0, x1, Math.max(2, Math.floor(width / 90)));
    for (const t of places.filter((v) => (x.every(Number.isInteger) ? Number.isInteger(v) : true))) {
      draw.append(svg('text', { x: px(t), y: height - bottom + 16, 'text-anchor': 'middle' }, number(t, 3)));
    }
    draw.append(
      svg('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
      svg('text', { x: width - right, y: height - 3, 'text-anchor': 'end' }, options.xName),
    );
    const inside = (options.marks || []).filter((mark) => mark.x >= x0 && mark.x <= x1);
    markLines(draw, inside, px, top, height - bottom, width * 0.7);
    series.forEach((s, n) => {
      const there = s.y.map((_, i) => i).filter((i) => s.y[i] !== null && s.y[i] !== undefined);
      if (s.low && there.every((i) => s.low[i] !== null)) {
        const edge = [
          ...there.map((i) => `${px(x[i])},${py(s.high[i])}`),
          ...there.reverse().map((i) => `${px(x[i])},${py(s.low[i])}`),
        ];
        there.reverse();
        draw.append(svg('polygon', { class: `band s${(n % 5) + 1}`, points: edge.join(' ') }));
      }
      if (there.length === 1)
        draw.append(
          svg('circle', { class: `s${(n % 5) + 1}`, r: 3, cx: px(x[there[0]]), cy: py(s.y[there[0]]) }),
        );
      draw.append(
        svg('polyline', {
          class: `line s${(n % 5) + 1}`,
          points: there.map((i) => `${px(x[i])},${py(s.y[i])}`).join(' '),
        }),
      );
    });
    const cursor = svg('line', { class: 'cursor', y1: top, y2: height - bottom, visibility: 'hidden' });
    const dots = series.map((_, n) =>
      svg('circle', { class: `s${(n % 5) + 1}`, r: 4, visibility: 'hidden' }),
    );
    draw.append(cursor, ...dots);
    const mark = (i) => {
      fill(cursor, { x1: px(x[i]), x2: px(x[i]), visibility: 'visible' }, []);
      dots.forEach((dot, n) => {
        const v = series[n].y[i];
        if (v === null || v === undefined) fill(dot, { visibility: 'hidden' }, []);
        else fill(dot, { cx: px(x[i]), cy: py(v), visibility: 'visible' }, []);
      });
    };
    const nearest = (place) => {
      let best = 0;
      x.forEach((v, i) => {
        if (Math.abs(px(v) - place) < Math.abs(px(x[best]) - place)) best = i;
      });
      return best;
    };
    return values.connect(draw, nearest, mark);
  });
  const legend = el(
    'ul',
    { class: 'legend' },
    series.map((s, n) =>
      el(
        'li',
        null,
        svg(
          'svg',
          { viewBox: '0 0 22 8', 'aria-hidden': 'true' },
          svg('line', { class: `line s${(n % 5) + 1}`, x1: 0, x2: 22, y1: 4, y2: 4 }),
        ),
        named(s.name),
      ),
    ),
  );
  const figure = el(
    'figure',
    null,
    options.title ? el('figcaption', null, options.title) : null,
    host,
    legend,
    values.node,
  );
  figure.point = (i) => {
    values.at = i;
    values.node.textContent = '';
    values.mark(i);
  };
  return figure;
}

// Counts in equal classes. options: title, label, edges, counts, xName, mark
function histogram(options) {
  const { edges, counts } = options;
  const host = el('div', { class: 'chart' });
  const most = Math.max(...counts, 1e-300);
  const values = reader(counts.length, 'Point at a bar, or use the arrow keys.', (i) => {
    const what = options.share
      ? `${percent(counts[i], 1)} of the pairs`
      : counted(counts[i], 'query', 'queries');
    return `${options.xName} from ${number(edges[i], 3)} to ${number(edges[i + 1], 3)}: ${what}`;
  });
  chart(host, options.height || 230, (width, height) => {
    const left = 10,
      right = 10,
      top = 20,
      bottom = 34;
    const px = (v) => left + ((v - edges[0]) / (edges[edges.length - 1] - edges[0])) * (width - left - right);
    const draw = canvas(width, height, options.label);
    const bars = counts.map((count, i) =>
      svg('rect', {
        class: 'bar',
        x: px(edges[i]) + 1,
        width: Math.max(1, px(edges[i + 1]) - px(edges[i]) - 2),
        y: top + (1 - count / most) * (height - top - bottom),
        height: (count / most) * (height - top - bottom),
      }),
    );
    draw.append(
      ...bars,
      svg('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    );
    for (const t of ticks(edges[0], edges[edges.length - 1], Math.max(2, Math.floor(width / 90)))) {
      draw.append(
        svg(
          'text',
          { x: px(t), y: height - bottom + 16, 'text-anchor': t === edges[0] ? 'start' : 'middle' },
          number(t, 3),
        ),
      );
    }
    draw.append(svg('text', { x: width - right, y: height - 3, 'text-anchor': 'end' }, options.xName));
    markLines(draw, options.marks || [], px, top, height - bottom, width * 0.6);
    const find = (place) => {
      const share = (place - left) / (width - left - right);
      return Math.max(0, Math.min(counts.length - 1, Math.floor(share * counts.length)));
    };
    return values.connect(draw, find, (i) => bars.forEach((bar, j) => bar.classList.toggle('on', i === j)));
  });
  return el('figure', null, el('figcaption', null, options.title), host, values.node);
}

// Names, bars and amounts, one below the other. rows: [{name, part in [0, 1], amount}]
function barList(rows, label) {
  return el(
    'div',
    { class: 'bars', role: 'list', 'aria-label': label },
    rows.map((row) => {
      const track = el('span', { class: 'fill' });
      track.style.width = `${Math.max(0, Math.min(1, row.part)) * 100}%`;
      return el(
        'div',
        { class: 'row', role: 'listitem' },
        el('span', { class: 'name' }, named(row.name)),
        el('span', { class: 'track', 'aria-hidden': 'true' }, track),
        el('span', { class: 'amount' }, row.amount),
      );
    }),
  );
}
