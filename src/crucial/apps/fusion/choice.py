"""The settings of a learned fusion, and how cross-validation chose them."""

from __future__ import annotations

import msgspec

__all__ = ["FusionChoice", "FusionTrial", "Setting"]


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One of the settings that cross-validation compares.

    Attributes
    ----------
    features : str
        A name in `crucial.apps.fusion.options.FEATURES`.
    balance : {"queries", "pairs"}
        Whether all queries weigh the same, or all pairs of documents.
    positive : bool
        Whether a better position may never lower the score.
    rounds : int
    share : float
        Weight of the learned scores, from 0 to 1; the rest is that of reciprocal rank fusion with
        k = 60. 0 is reciprocal rank fusion alone.
    """

    features: str
    balance: str
    positive: bool
    rounds: int
    # (no literal: files omit the share that nobody set, which is this very object, and only that)
    share: float = float("1")


class FusionTrial(
    Setting, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A setting and its results on held-out queries.

    Attributes
    ----------
    value : float
        Mean of the measure.
    gain : float
        Mean gain over reciprocal rank fusion on the same queries.
    bound : float
        Lower confidence bound of the gain; the trial with the highest is chosen, if it is above 0.
        None if there are too few queries for one.
    """

    value: float
    gain: float = 0.0
    bound: float | None = 0.0

    @property
    def setting(self) -> Setting:
        """The setting alone."""
        return Setting(self.features, self.balance, self.positive, self.rounds, self.share)


class FusionChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen setting, and what it was chosen by and from.

    Attributes
    ----------
    setting : Setting
    measure : str
        Name of the measure that was compared.
    folds : int
        Number of folds of the cross-validation.
    n_queries : int
        Number of queries that the fusion was learned from; model files call it "topics".
    longest : tuple of int
        Length of the longest list of each run.
    trials : tuple of Trial
        All settings that were tried.
    """

    setting: Setting
    measure: str
    folds: int
    n_queries: int = msgspec.field(name="topics")
    longest: tuple[int, ...]
    trials: tuple[FusionTrial, ...]

    @property
    def trial(self) -> FusionTrial | None:
        """The trial that was chosen; None if its file does not list it."""
        return next((one for one in self.trials if one.setting == self.setting), None)

    def to_plain(self) -> dict[str, object]:
        """Return the choice as stored in a model file."""
        plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(self))
        return plain
