// Judges: how they follow the others, and whether the position sways them.
const chanceText = (p) => (p < 1e-4 ? 'p < 1e-4' : `p = ${Number(p.toPrecision(2))}`);

function positionText(bias) {
  if (!bias || bias.share === null) return '';
  return `${percent(bias.share, 1)}, ${chanceText(bias.p)}`;
}

function judgesSection() {
  if (!data.judges.length && !data.position && !data.effects.length) return null;
  const children = [];
  if (data.position) {
    const bias = data.position;
    children.push(
      el(
        'p',
        null,
        `The item shown first won ${percent(bias.share, 1)} of ${counted(bias.n, 'decision', 'decisions')}: ` +
          `${signed2(bias.effect)} log-odds given the strengths (${signed2(bias.low)} to ${signed2(bias.high)}), ` +
          `${chanceText(bias.p)}.`,
      ),
    );
  }
  if (data.effects.length) {
    children.push(
      table(
        'Covariates taken out of the strengths, in log-odds per unit.',
        [{ name: 'Covariate' }, { name: 'Effect', number: true }, { name: 'Interval', number: true }, { name: 'Test', number: true }],
        data.effects.map((one) => [named(one.name), number(one.effect, 3), `${number(one.low, 3)} to ${number(one.high, 3)}`, chanceText(one.p)]),
      ),
    );
  }
  if (data.judges.length) {
    const sways = data.judges.some((one) => one.position);
    const heads = [
      { name: 'Judge' },
      { name: 'Comparisons', number: true },
      { name: 'As the others', number: true },
      { name: 'Reliability', number: true },
    ];
    if (sways) heads.push({ name: 'First shown won', number: true });
    const rows = data.judges.map((one) => {
      const [middle, low, high] = one.reliability;
      const cells = [
        named(one.name),
        one.n.toLocaleString('en'),
        one.agrees === null ? '' : percent(one.agrees, 1),
        middle === null ? '' : `${middle.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
      ];
      if (sways) cells.push(positionText(one.position));
      return cells;
    });
    children.push(
      table(
        'Reliability: 1 follows the others as judges do on average, 0 guesses, below 0 contradicts. Tests of the position are adjusted for the number of judges.',
        heads,
        rows,
        'judges',
      ),
    );
  }
  return section('judges', data.judges.length ? 'Judges' : 'Position and covariates', children);
}
