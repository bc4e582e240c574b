"""``python -m fuzz [READER ...] [--inputs N] [--seed S] [--atheris | --shapes]``, in tests."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from fuzz.runner import coverage_guided, fuzz
from fuzz.shapes import times
from fuzz.targets import TARGETS


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _print_times(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = sorted(times(name, Path(folder)), key=lambda one: one[1][-1])
    for shape, took, power in found:
        _say(f"{shape:32}" + " ".join(f"{one:8.4f}" for one in took) + f"  power {power:4.2f}")
    steepest = max(power for _, _, power in found)
    _say(f"{name}: {len(found)} shapes, at most {found[-1][1][-1]:.2f} s, power {steepest:.2f}")


def main() -> int:
    """Fuzz readers one after the other; the exit code is 1 if a problem was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=main.__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true", help="guided by coverage; one reader")
    parser.add_argument("--shapes", action="store_true", help="time of long inputs, in five sizes")
    options = parser.parse_args()
    if options.shapes:
        for name in options.readers:
            _print_times(name)
        return 0
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
