"""Every ranker and measure gives the bytes of ``manifest.json``, here and as on other machines.

`make test-cpus` compares all entries under all settings; here are all entries in this process,
and the small problems under the two settings that differ the most.
"""

import json
from typing import Any

import pytest

from golden import manifest

EXPECTED: dict[str, Any] = json.loads(manifest.FILE.read_text())
SMALL = "/ two / 1"


@pytest.mark.parametrize("place", manifest.problems())
def test_this_machine_has_the_bytes_of_the_manifest(place: str) -> None:
    found = dict(manifest.entries(f"/ {place}", threads=(1,)))
    assert manifest.differences(found, EXPECTED) == []
    ends = (f"/ {place}", f"/ {place} / 1")
    assert found.keys() == {key for key in EXPECTED if key.endswith(ends)}


@pytest.mark.filterwarnings("ignore")
def test_pairs_judges_labels_and_fusions_have_them_too() -> None:
    others = manifest.others()
    del others["auto / graded"]  # (among those of a problem)
    assert manifest.differences({key: make() for key, make in others.items()}, EXPECTED) == []


def test_threads_change_nothing() -> None:
    for key, value in EXPECTED.items():
        if key.endswith("/ 3"):
            assert manifest.differences({key: EXPECTED[key[:-1] + "1"]}, {key: value}) == []


@pytest.mark.parametrize("name", ["NumPy baseline", "everything old"])
def test_other_machines_have_the_bytes_of_the_manifest(name: str) -> None:
    found = manifest.elsewhere(manifest.settings()[name], SMALL)
    assert len(found) > 50
    assert manifest.differences(found, EXPECTED) == []


def test_a_difference_is_found() -> None:
    scores = {"range": 2.0, "scores": [0.0, 2.0]}
    moved = {"range": 2.0, "scores": [0.0, 2.0 + 1e-8]}
    assert manifest.differences({"a": "1", "b": scores}, {"a": "1", "b": scores}) == []
    assert len(manifest.differences({"a": "1", "b": moved}, {"a": "2", "b": scores})) == 2
