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
