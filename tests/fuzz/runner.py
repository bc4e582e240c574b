"""Feed a reader many inputs, and report crashes, hangs and memory out of proportion.

An input whose outcome is new, that is, whose error has words not seen before, joins the seeds: the
fuzzer moves on from what gets further. `coverage_guided` does the same by coverage of branches,
where atheris is installed.
"""

import random
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from crucial.errors import CrucialError, FileError
from fuzz.targets import TARGETS, Target

#: Seconds of CPU that a small input may take, and bytes of memory beyond a multiple of its size.
MOST_SECONDS = 1.0
MOST_BYTES, BYTES_PER_BYTE = 64 << 20, 1000
_MOST_SEEDS = 2000
_VARIABLE = re.compile(r"'(?:[^'\\]|\\.)*'\.*|\"[^\"]*\"|[0-9]+|/\S+")


class _Hang(BaseException):
    """Raised by the alarm; no reader catches it."""


def _alarm(*_: object) -> None:
    raise _Hang


def outcome(target: Target, path: Path, text: bytes) -> tuple[str, str]:
    """Return what an input leads to, without names and numbers, and what is wrong with that."""
    path.write_bytes(text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, 10 * MOST_SECONDS)
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            target.read(path)
        kind = f"read, {len(raised)} warnings"
        problem = "; ".join(str(one.message) for one in raised if one.category is RuntimeWarning)
    except CrucialError as error:
        kind, problem = _VARIABLE.sub("", str(error)), ""
        if not str(error).isprintable() and "\n" not in str(error):
            problem = f"the error has control characters: {error!r}"
        if isinstance(error, FileError) and not str(error).startswith(str(path.parent)):
            problem = f"the error does not begin with the file: {error!r}"
    except _Hang:
        kind, problem = "hang", f"no answer after {10 * MOST_SECONDS:g} s"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kind, problem = type(error).__name__, traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took = time.process_time() - start
    more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if not problem and took > MOST_SECONDS:
        problem = f"took {took:.1f} s of CPU"
    if not problem and more > MOST_BYTES + BYTES_PER_BYTE * len(text):
        problem = f"took {more / 2**20:.0f} MiB for {len(text)} bytes"
    return kind, problem


def fuzz(name: str, n_inputs: int, folder: Path, seed: int = 0) -> list[str]:
    """Return the problems that were found, each with its input; at most one of a kind."""
    target = TARGETS[name]
    path = folder / f"x{target.suffix}"
    rng = random.Random(f"{name} {seed}")
    seeds = list(target.seeds())
    seen: set[str] = set()
    problems: dict[str, str] = {}
    for text in seeds:  # (imports and compiling take time once)
        outcome(target, path, text)
    for number in range(n_inputs):
        text = seeds[number] if number < len(seeds) else target.make(seeds, rng)
        kind, problem = outcome(target, path, text)
        if problem:
            again = outcome(target, path, text)[1]  # (another process may have had the machine)
            if again or "MiB" in problem:
                problems.setdefault(f"{kind} {problem[-100:]}", f"{problem}\ninput: {text!r}")
        elif kind not in seen and len(seeds) < _MOST_SEEDS and target.make.__name__ == "mutated":
            seen.add(kind)
            seeds.append(text)
    return list(problems.values())


def coverage_guided(name: str, n_inputs: int, folder: Path, seed: int = 0) -> None:
    """Run one reader under atheris, which ends the process at the first problem."""
    import atheris

    target = TARGETS[name]
    path = folder / f"x{target.suffix}"
    corpus = folder / f"corpus-{name}"
    corpus.mkdir(exist_ok=True)
    with atheris.instrument_imports(include=["crucial"]):
        for number, text in enumerate(target.seeds()):
            (corpus / f"seed-{number}").write_bytes(text)
            outcome(target, path, text)

    def one(text: bytes) -> None:
        if target.make.__name__ == "sealed":
            text = target.make(list(target.seeds()), random.Random(text))
        problem = outcome(target, path, text)[1]
        if problem:
            sys.stderr.write(f"{problem}\ninput: {text!r}\n")
            raise RuntimeError(name)

    options = [f"-runs={n_inputs}", f"-seed={seed + 1}", "-max_len=4096", "-print_final_stats=1"]
    options += [f"-artifact_prefix={folder}/{name}-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()
