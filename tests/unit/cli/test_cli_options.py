"""Options declared as dataclasses: what the annotations make of the command line."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Literal, get_type_hints

import click
import pytest
from click.testing import CliRunner

from crucial.cli.app import VERBS, app
from crucial.cli.options import File, JobsOptions, argument, option, verb


@dataclass(frozen=True)
class SomeOptions(JobsOptions):
    data: tuple[File, ...] = argument()
    rounds: int = option("Rounds.", low=1, default=3)
    rate: float | None = option("Rate.", low=0, high=1, low_open=True)
    empty: Literal["skip", 0, 1] = option("Empty.", default="skip")
    positive: bool | None = option("Positive.", "--positive/--any-sign", default=None)
    json: bool = option("JSON.", "-j")
    metrics: tuple[str, ...] = option("Measures.", "-m", "--metric")


@pytest.fixture
def parsed():
    """Parse words; gives the object of options."""
    found: list[SomeOptions] = []

    @verb("some", SomeOptions)
    def some_command(options: SomeOptions) -> None:
        """Do something.

        \b
        Examples:
          crucial some
        """
        found.append(options)

    def parse(*words: str) -> SomeOptions:
        result = CliRunner().invoke(some_command, words, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return found.pop()

    parse.command = some_command
    return parse


def test_what_is_not_given_has_its_default(parsed) -> None:
    assert parsed() == SomeOptions(
        data=(), rounds=3, rate=None, empty="skip", positive=None, json=False, metrics=(), jobs=None
    )


def test_values_have_the_types_of_their_annotations(parsed) -> None:
    options = parsed("a", "b", "--rounds", "5", "--rate", "0.5", "--empty", "1", "--any-sign", "-j",
                     "-m", "map", "--metric", "mrr", "--jobs", "2")  # fmt: skip
    assert options == SomeOptions(
        data=("a", "b"), rounds=5, rate=0.5, empty=1, positive=False, json=True,
        metrics=("map", "mrr"), jobs=2,
    )  # fmt: skip
    assert type(options.empty) is int


@pytest.mark.parametrize(
    "words",
    [("--rounds", "0"), ("--rate", "0"), ("--rate", "1.1"), ("--empty", "2"), ("--json=1",)],
)
def test_what_is_outside_is_refused(parsed, words: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        parsed(*words)


def test_shared_options_follow_and_examples_come_last(parsed) -> None:
    text = CliRunner().invoke(parsed.command, ["--help"]).stdout
    marks = ["Do something.", "--rounds N", "-j, --json", "--jobs N", "Examples:"]
    assert sorted(marks, key=text.index) == marks


@pytest.mark.parametrize("word", VERBS)
def test_every_verb_takes_one_object_of_options(word: str) -> None:
    command = app.get_command(click.Context(app), word)
    action = command.callback.__closure__[0].cell_contents
    (kind,) = [one for name, one in get_type_hints(action).items() if name != "return"]
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert {one.name for one in command.params} == set(kind.__dataclass_fields__)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("fuse a b --method combsum --k 5 -o x", "--k needs --method rrf."),
        ("fuse a b --method rrf --normalise rank -o x", "--normalise needs --method combsum"),
        ("fuse a b --method rrf -m map -o x", "--metric is for a learned fusion"),
        ("fuse a b --method rrf --features qq -o x", "--features is for a learned fusion"),
        ("fuse a b --method rrf --any-sign -o x", "--positive is for a learned fusion"),
        ("fuse a b --qrels q --depth 5 -o x", "--depth is for fused runs"),
        ("evaluate m d --resamples 50", "--resamples needs --intervals."),
        ("pairs p --rounds 5", "--rounds needs --features."),
        ("scorecard m d --reasons 3 -o x", "--reasons needs --scores."),
        ("scorecard m d --max-bins 3 --all-bins -o x", "--max-bins and --all-bins exclude"),
    ],
)
def test_options_that_would_not_be_looked_at(crucial, words, problem):
    result = crucial(*words.split())
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
