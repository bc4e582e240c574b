"""``python -m mutants [MODULE ...] [--mutants N] [--seed S]``, from the folder tests."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from mutants.mutate import Mutant, all_mutants, sample
from mutants.runner import copy_tree, survivors
from mutants.table import CONCERNED, paths_of

_ROOT = Path(__file__).resolve().parents[2]
_ALLOWED = 0.1  # of the mutants may survive


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Put faults into modules, run their tests; the exit code is 1 if over 10% survive."""
    parser = argparse.ArgumentParser(prog="mutants", description=main.__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(CONCERNED))
    parser.add_argument("--mutants", type=int, default=30, help="of each module; 30 by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if unknown := [name for name in options.modules if name not in CONCERNED]:
        parser.error(f"not in tests/mutants/table.py: {', '.join(unknown)}")
    tried = left = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_tree(_ROOT, Path(folder))
        for name in options.modules or CONCERNED:
            module = f"src/crucial/{name}"
            text = (tree / module).read_text()
            lines = text.splitlines()
            chosen = sample(all_mutants(text), options.mutants, f"{options.seed} {name}")

            def show(mutant: Mutant, name: str = name, lines: list[str] = lines) -> None:
                line = lines[mutant.line - 1].strip()
                _say(f"  survived: {name}:{mutant.line}: {mutant.fault}: {line}")

            survived = len(survivors(tree, module, paths_of(name), chosen, show))
            _say(f"{name}: {len(chosen) - survived} of {len(chosen)} killed, {survived} survived")
            tried, left = tried + len(chosen), left + survived
    _say(f"all: {tried - left} of {tried} killed, {left / max(tried, 1):.0%} survived")
    return int(left > _ALLOWED * tried)


if __name__ == "__main__":
    sys.exit(main())
