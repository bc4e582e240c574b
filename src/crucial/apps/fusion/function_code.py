"""The code that turns result lists into the rows of a fusion's model, in Python and JavaScript."""

__all__ = ["JAVASCRIPT", "PYTHON"]

#: What is added to a Python function of a row.
PYTHON = '''

# -- the lists of one query ----------------------------------------------------------------------

RUNS = {runs}
_COLUMNS, _K, _SCORES = {columns}, {k}, {scores}
_RULE, _RULE_K, _RULE_SCORES = {rule}, {rule_k}, {rule_scores}


def _float32(value):
    from struct import pack, unpack

    return unpack("f", pack("f", value))[0]


def _scaled(values, scale):
    """Return the scores of a list, best first, on a common scale."""
    n = len(values)
    if scale == "rank":
        return [1.0 - place / n for place in range(n)]
    if max(abs(values[0]), abs(values[-1])) > 1e150:
        values = [value * 2.0**-600 for value in values]
    spread = values[0] - values[-1]
    shares = [(value - values[-1]) / spread if spread > 0 else 0.0 for value in values]
    if scale == "min-max" or not spread > 0:
        return shares
    mean = _added(shares) / n
    away = [share - mean for share in shares]
    spread = _sqrt(_added([one * one for one in away]) / n)
    return [one / spread for one in away]


def _sqrt(value):
    from math import sqrt

    return sqrt(value)


def _added(values):
    """Return a sum from first to last, which sum() need not be."""
    total = 0.0
    for value in values:
        total += value
    return total


def fuse(lists):
    """Fuse the results of one query: a mapping from a name in RUNS to {{doc: score}} or a list of
    (doc, score); a run that is left out abstains. Returns (doc, score), best first."""
    rows, votes, n = {{}}, {{}}, len(RUNS)
    unknown = [run for run in lists if run not in RUNS]
    if unknown:
        raise ValueError(f"no run is called {{unknown[0]!r}}")
    for at, run in enumerate(RUNS):
        found = lists.get(run) or []
        found = list(found.items() if hasattr(found, "items") else found)
        if len({{doc for doc, _ in found}}) < len(found):
            raise ValueError(f"{{run!r}} has a document twice")
        found.sort(key=lambda one: (one[1], one[0]), reverse=True)
        values = [float(value) for _, value in found]
        scaled = _scaled(values, _SCORES) if found and _SCORES else []
        votes_of = _scaled(values, _RULE_SCORES) if found and _RULE_SCORES else []
        for place, (doc, _) in enumerate(found):
            row = rows.setdefault(doc, [None] * len(FEATURES))
            reciprocal = _float32(1.0 / (_K + place + 1))
            row[at] = reciprocal if _COLUMNS == "reciprocal" else -1.0 - place
            if _SCORES:
                row[n + at] = _float32(scaled[place])
            if _COLUMNS == "positions+reciprocal":
                row[len(FEATURES) - n + at] = reciprocal
            total, count = votes.get(doc, (0.0, 0))
            vote = votes_of[place] if _RULE_SCORES else 1.0 / (_RULE_K + place + 1)
            votes[doc] = total + vote, count + 1
    if _RULE:
        by_rule = {{
            doc: total * count if _RULE == "combmnz" else total
            for doc, (total, count) in votes.items()
        }}
        in_order = sorted(rows, key=lambda one: (by_rule[one], one), reverse=True)
        for place, doc in enumerate(in_order):
            rows[doc][2 * n if _SCORES else n] = -1.0 - place
    ranked = sorted(((score(row), doc) for doc, row in rows.items()), reverse=True)
    return [(doc, value) for value, doc in ranked]
'''
#: What is added to a JavaScript function of a row.
JAVASCRIPT = """
// fuse(lists) fuses the results of one query: an object from names of runs to arrays of
// [doc, score]; a run that is left out abstains. Returns [doc, score], best first.
var fuse = (function () {{
  "use strict";
  const RUNS = {runs};
  const COLUMNS = {columns}, K = {k}, SCORES = {scores}, N = {n_features};
  const RULE = {rule}, RULE_K = {rule_k}, RULE_SCORES = {rule_scores};
  function later(a, b) {{ // by code points
    const x = Array.from(a, (c) => c.codePointAt(0));
    const y = Array.from(b, (c) => c.codePointAt(0));
    for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return y[i] - x[i];
    return y.length - x.length;
  }}
  const best = (a, b) => (a[1] !== b[1] ? b[1] - a[1] : later(a[0], b[0]));
  const added = (values) => values.reduce((total, value) => total + value, 0);
  function scaled(values, scale) {{
    const n = values.length;
    if (scale === "rank") return values.map((_, place) => 1 - place / n);
    const largest = Math.max(Math.abs(values[0]), Math.abs(values[n - 1]));
    if (largest > 1e150) values = values.map((value) => value * 2 ** -600);
    const low = values[n - 1], range = values[0] - low;
    const shares = values.map((value) => (range > 0 ? (value - low) / range : 0));
    if (scale === "min-max" || !(range > 0)) return shares;
    const mean = added(shares) / n;
    const away = shares.map((share) => share - mean);
    const spread = Math.sqrt(added(away.map((one) => one * one)) / n);
    return away.map((one) => one / spread);
  }}
  return function (lists) {{
    const rows = new Map(), votes = new Map(), n = RUNS.length;
    for (const run of Object.keys(lists)) {{
      if (!RUNS.includes(run)) throw new Error("no run is called " + JSON.stringify(run));
    }}
    RUNS.forEach((run, at) => {{
      const own = Object.prototype.hasOwnProperty.call(lists, run) ? lists[run] : null;
      const found = (own || []).slice().sort(best);
      if (new Set(found.map((one) => one[0])).size < found.length) {{
        throw new Error(JSON.stringify(run) + " has a document twice");
      }}
      const values = found.map((one) => one[1]);
      const scores = found.length && SCORES !== null ? scaled(values, SCORES) : [];
      const others = found.length && RULE_SCORES !== null ? scaled(values, RULE_SCORES) : [];
      found.forEach((one, place) => {{
        if (!rows.has(one[0])) rows.set(one[0], new Array(N).fill(null));
        const row = rows.get(one[0]);
        const reciprocal = Math.fround(1 / (K + place + 1));
        row[at] = COLUMNS === "reciprocal" ? reciprocal : -1 - place;
        if (SCORES !== null) row[n + at] = Math.fround(scores[place]);
        if (COLUMNS === "positions+reciprocal") row[N - n + at] = reciprocal;
        const [total, count] = votes.get(one[0]) || [0, 0];
        const vote = RULE_SCORES !== null ? others[place] : 1 / (RULE_K + place + 1);
        votes.set(one[0], [total + vote, count + 1]);
      }});
    }});
    if (RULE !== null) {{
      const times = (count) => (RULE === "combmnz" ? count : 1);
      Array.from(votes, ([doc, [total, count]]) => [doc, total * times(count)])
        .sort(best)
        .forEach((one, place) => {{
          rows.get(one[0])[SCORES !== null ? 2 * n : n] = -1 - place;
        }});
    }}
    return Array.from(rows, ([doc, row]) => [doc, score(row)]).sort(best);
  }};
}})();
if (typeof module !== "undefined" && module.exports) module.exports.fuse = fuse;
"""
