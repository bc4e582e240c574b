"""Section 28: volume under the ROC surface on set B."""

import numpy as np
import pytest

from crucial.measures.names import get_measure
from naive.set_b import X1, X2, YB, YD, F


def test_section_28_vus_of_set_b():
    found = [get_measure("vus")(YD, scores) for scores in (F, X1, X2)]
    np.testing.assert_allclose(found, [13 / 18, 1 / 9, 5 / 9], rtol=1e-14)


def test_section_28_vus_of_two_labels_is_the_auc():
    for scores in (F, X1, X2):
        assert get_measure("vus")(YB, scores) == pytest.approx(get_measure("auc")(YB, scores))


def test_section_28_chance_is_one_over_d_factorial():
    for d, chance in ((2, 1 / 2), (3, 1 / 6), (4, 1 / 24)):
        assert get_measure("vus")(np.arange(3 * d) % d, np.zeros(3 * d)) == pytest.approx(chance)
