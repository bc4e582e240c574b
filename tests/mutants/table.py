"""Which tests concern which module; the quick ones, those that notice most first."""

from __future__ import annotations

#: Module below src/crucial -> tests below tests/unit. Its own examples run too.
CONCERNED = {
    "data/files.py": ("data/test_files.py", "test_progress.py"),
    "data/formats/preflib.py": ("data/test_preflib.py",),
    "data/formats/ratings.py": ("data/test_ratings.py",),
    "data/formats/trec.py": ("data/test_trec.py",),
    "measures/names.py": ("measures/test_measure_names.py",),
    "measures/paired.py": ("measures/test_paired.py",),
    "measures/ranking.py": ("measures/test_measure_values.py", "measures/test_measure_ranking.py"),
    "model/checks.py": ("model/test_checks.py", "model/test_model_file.py"),
    "model/file.py": ("model/test_model_file.py",),
}


def paths_of(module: str) -> list[str]:
    """Return what pytest is to run for a module: its own examples, then its tests."""
    return [f"src/crucial/{module}", *(f"tests/unit/{name}" for name in CONCERNED[module])]
