"""``python -m fuzz [READER ...] [--inputs N] [--seed S] [--atheris]``, from the folder tests."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from fuzz.runner import coverage_guided, fuzz
from fuzz.targets import TARGETS


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz readers one after the other; the exit code is 1 if a problem was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=main.__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true", help="guided by coverage; one reader")
    options = parser.parse_args()
    found = 0
    for name in options.readers or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            if options.atheris:
                coverage_guided(name, options.inputs, Path(folder), options.seed)
            start = time.process_time()
            problems = fuzz(name, options.inputs, Path(folder), options.seed)
            took = time.process_time() - start
        _say(f"{name}: {options.inputs:,} inputs in {took:.0f} s of CPU, {len(problems)} problems")
        for problem in problems:
            _say(problem)
        found += len(problems)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
