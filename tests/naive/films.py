"""The film rankers of Freund et al. (2003, section 6.2.3), by their words, in plain loops.

``table[film][viewer]`` is a rating or None, ``rated`` maps films to the user's ratings.
"""

import math

from naive.losses import hard_loss


def ratings_of(table, viewer):
    return {film: row[viewer] for film, row in enumerate(table) if row[viewer] is not None}


def mean_of(ratings):
    return sum(ratings.values()) / len(ratings) if ratings else 0.0


def best_scale_default(table, viewer, rated):
    """The best of the ratings that occur: loss, then nearness to the viewer's mean, then size."""
    said = ratings_of(table, viewer)
    scale = sorted({cell for row in table for cell in row if cell is not None} or {0.0})
    mean = mean_of(said)
    found = []
    for default in scale:
        scores = [said.get(film, default) for film in rated]
        loss = hard_loss(list(rated.values()), scores, 0.5, "comparable")  # (equation 21)
        found.append((loss, abs(default - mean), default))
    loss, _, default = min(found)
    return loss, mean if set(rated) <= set(said) else default


def neighbour_scores(table, viewer, default):
    said = ratings_of(table, viewer)
    return [said.get(film, default) for film in range(len(table))]


def vsim_scores(table, rated):
    n_viewers = len(table[0])
    own_length = math.sqrt(math.fsum(r * r for r in rated.values()))
    near, means = [], []
    for viewer in range(n_viewers):
        said = ratings_of(table, viewer)
        length = math.sqrt(math.fsum(r * r for r in said.values()))
        product = math.fsum(said[film] * rated[film] for film in rated if film in said)
        near.append(product / (length * own_length) if length and own_length else 0.0)
        means.append(mean_of(said))
    total = math.fsum(map(abs, near)) or 1.0
    own = mean_of(rated)
    return [
        own
        + math.fsum(
            near[v] * (row[v] - means[v]) / total for v in range(n_viewers) if row[v] is not None
        )
        for row in table
    ]


def regression_table(table, normalise):
    """The viewers' ratings with their means where there are none."""
    columns = []
    for viewer in range(len(table[0])):
        said = ratings_of(table, viewer)
        mean = mean_of(said)
        spread = math.sqrt(mean_of({k: (r - mean) ** 2 for k, r in said.items()}))
        fill = 0.0 if normalise else mean

        def brought(rating, mean=mean, spread=spread):
            if not normalise:
                return rating
            return (rating - mean) / spread if spread else 0.0

        columns.append(
            [brought(said[film]) if film in said else fill for film in range(len(table))]
        )
    return [list(row) for row in zip(*columns)]
