"""The parts of a score as SQL expressions: sums of CASE, in which NULL is "no opinion"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crucial.model.export.form import FormTree, ScoreForm, StepFunction, StraightPiece
from crucial.model.export.regions import Answer, region_tree
from crucial.model.export.sql_dialects import Dialect
from crucial.model.export.sql_walk import WALKED, walked_trees

__all__ = ["PLAIN_SUM", "SqlWriter"]

#: Databases refuse expressions that are nested about 1,000 deep, and a plain sum is as deep as it
#: is long: longer ones are cut into batches.
PLAIN_SUM = 400
_BATCH = 50
# SQLite reads about 16 nested CASE.
_DEEPEST = 10


@dataclass(frozen=True)
class SqlWriter:
    """Writes the parts of a form in one dialect.

    Attributes
    ----------
    form : ScoreForm
    dialect : Dialect
    encoded : bool
        Columns of text and dates are the model's numbers.
    """

    form: ScoreForm
    dialect: Dialect
    encoded: bool = False
    _made: dict[int, tuple[str, str]] = field(default_factory=dict, init=False, repr=False)

    def total(self) -> str:
        """Return the score."""
        number, form = self.dialect.literal, self.form
        sums = [
            self.added([self.step(step) for step in form.steps]),
            self.trees(),
            self.added([self.piece(piece) for piece in form.pieces]),
        ]
        total = f"((({sums[0]})\n + ({sums[1]}))\n + ({sums[2]}))"
        return (
            f"({total} + {number(form.intercept)}) / {number(form.divisor)} + {number(form.offset)}"
        )

    def trees(self) -> str:
        """Return the sum of the trees."""
        trees = self.form.trees
        size = sum(len(tree.features) + len(tree.values) for tree in trees)
        if self.dialect.walks and size >= WALKED:
            return walked_trees(trees, self.known)
        return self.added([self.tree(tree) for tree in trees])

    def known(self, feature: int) -> str:
        """Return the value of a feature, NULL where it has no opinion."""
        return f"CASE WHEN {self.missing(feature)} THEN NULL ELSE {self.value(feature)} END"

    def name(self, feature: int) -> str:
        """Return the name of a feature, quoted."""
        return self.dialect.name(self.form.names[feature])

    def value(self, feature: int) -> str:
        """Return the value of a feature as a double; that of a category is its number."""
        name = self.name(feature)
        known = self.categories(feature)
        if known is not None:
            cases = (
                f"WHEN {self.words([w])} THEN {self.dialect.literal(v)}" for w, v in known.items()
            )
            return f"CASE {name} {' '.join(cases)} END"
        time = self.time(feature)
        return f"CAST({name} AS {self.dialect.double})" if time is None else f"({time})"

    def missing(self, feature: int) -> str:
        """Return the test whether a feature has no opinion."""
        test = f"{self.name(feature)} IS NULL"
        known = self.categories(feature)
        if known is not None:
            return f"{test} OR {self.name(feature)} NOT IN ({self.words(list(known))})"
        if self.time(feature) is not None:  # (text may be no date)
            return f"{self.value(feature)} IS NULL"
        if self.dialect.is_nan:
            test += " OR " + self.dialect.is_nan.format(x=self.value(feature))
        return test

    def categories(self, feature: int) -> Mapping[str, float] | None:
        """Return the numbers of the categories of a feature; None for a column of numbers."""
        return None if self.encoded else self.form.encodings.categories.get(feature)

    def time(self, feature: int) -> str | None:
        """Return the number of a date or time; None for a feature that is no such column."""
        unit = None if self.encoded else self.form.encodings.times.get(feature)
        return None if unit is None else self.dialect.times[unit].format(x=self.name(feature))

    def words(self, some: Sequence[str]) -> str:
        """Return a list of texts."""
        return ", ".join(map(self.dialect.text, some))

    def step(self, step: StepFunction) -> str:
        """Return a step function as a search tree of CASE."""
        known = self.categories(step.feature)
        if known is not None:
            return self._by_category(step, known)
        number = self.dialect.literal
        x = self.value(step.feature)

        def between(low: int, high: int) -> str:
            if low == high:
                return number(float(step.values[low]))
            middle = (low + high) // 2
            test = f"{x} <= {number(float(step.thresholds[middle]))}"
            return (
                f"CASE WHEN {test} THEN {between(low, middle)} ELSE {between(middle + 1, high)} END"
            )

        inside = between(0, len(step.thresholds))
        return (
            f"CASE WHEN {self.missing(step.feature)} THEN {number(step.missing)} ELSE {inside} END"
        )

    def _by_category(self, step: StepFunction, known: Mapping[str, float]) -> str:
        """Return what the categories of a column of text add."""
        words: dict[float, list[str]] = {}
        for word, value in known.items():
            own = float(step.values[int(np.searchsorted(step.thresholds, value))])
            words.setdefault(own, []).append(word)
        number, name = self.dialect.literal, self.name(step.feature)
        cases = " ".join(
            f"WHEN {name} IN ({self.words(some)}) THEN {number(value)}"
            for value, some in words.items()
        )
        return f"CASE {cases} ELSE {number(step.missing)} END"

    def tree(self, tree: FormTree) -> str:
        """Return a tree as nested CASE, one per region.

        What is deeper than a few levels is a part of its own, which is 0 for rows that do not come
        there; all parts but one are 0, so that their sum is exact.
        """
        regions = region_tree(tree)
        if regions is None:
            plain = tree.spread()
            assert plain is not None
            return self.tree(plain)
        number = self.dialect.literal
        n = len(regions.answers)
        found = {~leaf: number(float(value)) for leaf, value in enumerate(tree.values)}
        if not n:
            return found[~0]
        tests = [self._answer(tree, answer) for answer in regions.answers]
        paths: list[tuple[str, ...]] = [()] * n  # (what leads to every region)
        for at in range(n):
            for child, test in ((regions.left[at], "NOT ({})"), (regions.right[at], "({})")):
                if child >= 0:
                    paths[child] = (*paths[at], test.format(tests[at]))
        deepest = max(2, _DEEPEST + 1 - regions.depth())
        apart = []
        for at in reversed(range(n)):
            left, right = found[regions.left[at]], found[regions.right[at]]
            own = f"CASE WHEN {tests[at]} THEN {right} ELSE {left} END"
            if paths[at] and len(paths[at]) % deepest == 0:
                apart.append(
                    f"CASE WHEN {' AND '.join(paths[at])} THEN {own} ELSE {number(0.0)} END"
                )
                own = number(0.0)
            found[at] = own
        return f"({self.added([found[0], *apart])})" if apart else found[0]

    def _answer(self, tree: FormTree, answer: Answer) -> str:
        """Return the test whether a row goes right in a region; never unknown."""
        if isinstance(answer, bool):
            return "1 = 1" if answer else "1 = 0"
        node, yes, no = answer
        test = self._goes_right(
            int(tree.features[node]), float(tree.thresholds[node]), bool(tree.missing_right[node])
        )
        if yes is True and no is False:
            return test
        if yes is False and no is True:
            return f"NOT ({test})"
        sides = [
            str(int(side)) if isinstance(side, bool) else self._side(tree, side)
            for side in (yes, no)
        ]
        return f"CASE WHEN {test} THEN {sides[0]} ELSE {sides[1]} END = 1"

    def _side(self, tree: FormTree, answer: Answer) -> str:
        """Return 1 for a row that goes right, and 0 for another."""
        test = self._answer(tree, answer)
        if test.endswith(" END = 1"):
            return test.removesuffix(" = 1")
        return f"CASE WHEN {test} THEN 1 ELSE 0 END"

    def _read(self, feature: int) -> tuple[str, str]:
        """Return the test whether a feature has no opinion, and its value; each is made once."""
        found = self._made.get(feature)
        if found is None:
            found = self._made[feature] = self.missing(feature), self.value(feature)
        return found

    def _goes_right(self, feature: int, threshold: float, missing_right: bool) -> str:
        """Return the test of a node; it is true or false, and never unknown."""
        known = self.categories(feature)
        if known is not None:
            # (text that was not seen at training abstains, as NULL does)
            right = [word for word, value in known.items() if value > threshold]
            left = [word for word, value in known.items() if not value > threshold]
            name = self.name(feature)
            if missing_right:
                return f"{name} IS NULL OR {name} NOT IN ({self.words(left)})" if left else "1 = 1"
            return f"{name} IN ({self.words(right)})" if right else "1 = 0"
        missing, value = self._read(feature)
        if threshold != threshold:
            return missing if missing_right else "1 = 0"
        above = f"{value} > {self.dialect.literal(threshold)}"
        return f"{missing} OR {above}" if missing_right else f"NOT ({missing}) AND {above}"

    def piece(self, piece: StraightPiece) -> str:
        """Return a straight piece, by the operations that define it."""
        number, x = self.dialect.literal, self.value(piece.feature)
        low, high = number(piece.low), number(piece.high)
        inside = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        bottom, width = piece.low * piece.unit, piece.high * piece.unit - piece.low * piece.unit
        scaled = f"(({inside}) * {number(piece.unit)} - {number(bottom)}) / {number(width)}"
        return (
            f"CASE WHEN {self.missing(piece.feature)} THEN {number(piece.weight * piece.default)} "
            f"ELSE {number(piece.weight)} * ({scaled}) END"
        )

    def added(self, parts: Sequence[str]) -> str:
        """Return a sum in the order of the model; a very long one in batches."""
        zero = self.dialect.literal(0.0)
        if len(parts) <= PLAIN_SUM:
            return "\n  + ".join([zero, *parts])
        batches = [
            "(" + " + ".join([zero, *parts[at : at + _BATCH]]) + ")"
            for at in range(0, len(parts), _BATCH)
        ]
        return self.added(batches)
