"""Section 21: losses of the review on set B, against their definitions and each other."""

import numpy as np
import pytest

from crucial.measures.names import get_measure
from crucial.rankers.classifiers import best_cuts
from naive.set_b import YB, YC, YD, F

LABELS = {"yb": YB, "yd": YD, "yc": YC}


@pytest.mark.parametrize(
    ("labels", "expected"), [("yb", (0, 1, 2)), ("yd", (1, 2, 3)), ("yc", (3, 4.5, 6))]
)
def test_section_21_hard_loss_of_all_pairs(labels, expected):
    for tied, pairs in zip((0, 0.5, 1), expected, strict=True):
        found = get_measure(f"hard_loss(tied={tied})")(LABELS[labels], F)
        assert found == pytest.approx(pairs / 28, abs=1e-15)
    assert get_measure("hard_loss")(LABELS[labels], F) == pytest.approx(expected[1] / 28)


@pytest.mark.parametrize(("labels", "expected"), [
    ("yb", (0.1875, 0.25, 0.09375, 0.162790697674)),
    ("yd", (1 / 6, 2 / 9, 0.139880952381, 0.242894056848)),
    ("yc", (0, 0, 0.071428571429, 0.124031007752)),
])  # fmt: skip
def test_section_21_weak_and_localised_losses_at_3(labels, expected):
    names = [f"{kind}_loss@3{how}" for kind in ("weak", "localised") for how in ("", "(standard)")]
    found = [get_measure(name)(LABELS[labels], F) for name in names]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("labels", "k", "most"), [
    ("yc", 3, 0.575892857143), ("yc", 6, 0.660714285714), ("yb", 3, 0.375),
    ("yb", 6, 0.535714285714),
])  # fmt: skip
def test_section_21_attained_maxima_of_the_localised_loss(labels, k, most):
    y = LABELS[labels]
    loss = get_measure(f"localised_loss@{k}")(y, F)
    assert loss / get_measure(f"localised_loss@{k}(standard=attained)")(y, F) == pytest.approx(
        most, abs=1e-11
    )


@pytest.mark.parametrize(("k", "paper"), [(3, 0.575892857143), (6, 0.910714285714)])
def test_section_21_the_papers_maximum_of_the_localised_loss(k, paper):
    loss = get_measure(f"localised_loss@{k}")(YC, F)
    assert loss / get_measure(f"localised_loss@{k}(standard)")(YC, F) == pytest.approx(
        paper, abs=1e-11
    )


def test_section_21_closed_forms_of_the_attained_maximum():
    """The two formulas of the specification, for every K; the code has one for all labels."""
    n, n_low = len(YC), int((YB == 0).sum())
    n_high = n - n_low
    for k in range(1, n + 1):
        distinct = k * (k - 1) / (n * (n - 1)) + (n - k) / n * 2 * min(k, n - k) / n
        worst = -np.arange(n)  # ranks distinct labels backwards
        found = get_measure(f"localised_loss@{k}(standard=attained)")(np.arange(n), worst)
        raw = get_measure(f"localised_loss@{k}")(np.arange(n), worst)
        assert raw == pytest.approx(distinct)
        assert found == pytest.approx(1.0)
        high, low = min(1, k / n_high), max(0, (k - n_high) / n_low)
        two = max(
            n_low / n * 2 * (k - a * high - (k - a) * low) / n + 2 * a * (k - a) / (n * (n - 1))
            for a in range(max(0, k - n_low), min(k, n_high) + 1)
        )
        value = get_measure(f"localised_loss@{k}")(YB, F)
        share = get_measure(f"localised_loss@{k}(standard=attained)")(YB, F)
        assert share * two == pytest.approx(value, abs=1e-14)


def test_section_21_hard_loss_and_auc_of_two_labels():
    n, n_low = len(YB), int((YB == 0).sum())
    pairs = 2 * n_low * (n - n_low) / (n * (n - 1))
    auc = get_measure("auc")(YB, F)
    assert get_measure("hard_loss")(YB, F) == pytest.approx(pairs * (1 - auc))
    assert get_measure("hard_loss(pairs=comparable)")(YB, F) == pytest.approx(1 - auc)


def test_section_21_ordinal_cuts_of_set_b():
    cuts = best_cuts(F, YD, 3)
    assert cuts.tolist() == pytest.approx([0.3, 0.55])
    assigned = np.searchsorted(cuts, F)
    assert np.mean(assigned != YD) == np.mean(abs(assigned - YD)) == 1 / 4
    assert best_cuts(F, YD, 3, error="absolute").tolist() == cuts.tolist()
