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
