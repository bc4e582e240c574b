"""Options declared as dataclasses: what the annotations make of the command line."""

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
    assert parsed() == SomeOptions(None, (), 3, None, "skip", None, False, ())


def test_values_have_the_types_of_their_annotations(parsed) -> None:
    options = parsed("a", "b", "--rounds", "5", "--rate", "0.5", "--empty", "1", "--any-sign", "-j",
                     "-m", "map", "--metric", "mrr", "--jobs", "2")  # fmt: skip
    assert options == SomeOptions(2, ("a", "b"), 5, 0.5, 1, False, True, ("map", "mrr"))
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
    assert {one.name for one in command.params} <= set(kind.__dataclass_fields__)
