"""The group of verbs: help, version, what is typed wrongly, what fails."""

from __future__ import annotations

import inspect
import re
import warnings

import click
import pytest
from click.testing import CliRunner

import crucial as package
from crucial.cli.app import VERBS, Verbs, app
from crucial.cli.terminal import FAILED, INTERRUPTED, REFUSED
from crucial.errors import DataError, DataWarning


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(crucial, verb: str) -> None:
    said = crucial(verb, "--help")
    assert said.exit_code == 0
    assert said.stderr == ""
    assert f"crucial {verb}" in said.stdout
    assert "Examples:" in said.stdout


def test_help_names_every_verb(crucial) -> None:
    said = crucial("--help")
    assert all(re.search(rf"^  {verb} ", said.stdout, re.M) for verb in VERBS)
    assert crucial().stdout == said.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_what_each_says_of_itself(verb: str) -> None:
    command = app.get_command(click.Context(app), verb)
    assert command is not None
    assert command.get_short_help_str(limit=200) == VERBS[verb]


def test_short_help_is_never_cut(crucial) -> None:
    assert "..." not in crucial("--help").stdout.split("Commands:")[1].split("\n\n")[0]


def test_version(crucial) -> None:
    assert crucial("--version").stdout == f"crucial {package.__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trian",), "no verb 'trian'; did you mean 'train'?"),
        (("xyz",), "no verb 'xyz'; the verbs are: train, rank,"),
        (("train",), "Missing argument 'DATA'"),
        (("train", "a.txt"), "Missing option '-o'"),
        (("train", "a.txt", "-o", "m", "--round", "3"), "No such option"),
        (("train", "a.txt", "-o", "m", "--rounds", "0"), "'--rounds': 0 is not in the range"),
        (("train", "a.txt", "-o", "m", "--rounds", "x"), "'x' is not a valid int"),
        (("train", "a.txt", "-o", "m", "--learning-rate", "0"), "'--learning-rate': 0"),
        (("train", "a.txt", "-o", "m", "--max-bins", "1"), "'--max-bins': 1 is not in the range"),
        (("train", "a.txt", "-o", "m", "--preset", "x"), "'x' is not one of"),
        (("--nothing",), "No such option"),
        (("evaluate", "m", "d", "-o", "x"), "-o is for --by-query and --json"),
        (("rank", "m", "d", "-o", "x", "--tag", "two words"), "must be one word"),
    ],
)
def test_wrong_words_get_one_line(crucial, words: tuple[str, ...], said: str) -> None:
    result = crucial(*words)
    assert result.exit_code == REFUSED
    assert result.stdout == ""
    assert result.stderr.startswith("crucial: error: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert "--help' lists the options" in result.stderr


def verb_that(action) -> Verbs:
    @click.command("act")
    def act() -> None:
        action()

    class One(Verbs):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            return act

    return One("crucial")


def raises(error: BaseException):
    def action() -> None:
        raise error

    return action


def noted(error: BaseException) -> BaseException:
    error.add_note("Here it goes on.")
    return error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (DataError("the first\n- and\n- second line"), REFUSED, "the first - and - second line"),
        (PermissionError(13, "Permission denied", "a.txt"), REFUSED, "a.txt: permission denied"),
        (
            OSError(28, "No space left on device"),
            FAILED,
            "standard output cannot be written: no space left on the disk.",
        ),
        (OSError(24, "Too many open files", "x.py"), FAILED, "too many open files: use fewer"),
        (MemoryError("9 GiB"), FAILED, "not enough memory. 9 GiB"),
        (ZeroDivisionError("division by zero"), FAILED, "a bug in crucial: ZeroDivisionError"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted"),
        (click.Abort(), INTERRUPTED, "interrupted"),
        (
            noted(KeyboardInterrupt()),
            INTERRUPTED,
            "interrupted; existing files are unchanged. Here",
        ),
        (DataError("\x1b[31mred"), REFUSED, r"\x1b[31mred"),
    ],
)
def test_errors_become_one_line(error: BaseException, code: int, said: str) -> None:
    result = CliRunner().invoke(verb_that(raises(error)), ["train"])
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stderr.strip().count("\n") == 0


def test_tracebacks_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUCIAL_TRACEBACK", "1")
    result = CliRunner().invoke(verb_that(raises(DataError("odd"))), ["train"])
    assert isinstance(result.exception, DataError)


def test_warnings_become_notes() -> None:
    def action() -> None:
        for _ in range(2):
            warnings.warn("two\nlines", DataWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        warnings.warn("for programmers", FutureWarning, stacklevel=1)

    result = CliRunner().invoke(verb_that(action), ["train"])
    assert result.exit_code == 0
    assert result.stderr == "crucial: note: two lines\n"


def test_defaults_that_help_states_are_the_estimators() -> None:
    """Options are None unless given, so their help must say what then happens."""
    from crucial import RankBoost
    from crucial.cli.train import train_command

    stated = {
        option.name: match.group(1)
        for option in train_command.params
        if (match := re.search(r"\[default: ([^\]]*)\]", getattr(option, "help", None) or ""))
    }
    names = {"rounds": "n_estimators", "seed": "random_state"}
    defaults = inspect.signature(RankBoost).parameters
    checked = 0
    for option, text in stated.items():
        parameter = defaults.get(names.get(option, option))
        if parameter is not None:
            assert str(parameter.default) == text or float(text) == parameter.default
            checked += 1
    assert checked == 13
    assert defaults["step"].default is None
    assert defaults["positive_weights"].default is None
    assert defaults["early_stopping_rounds"].default is None
    assert defaults["validation_fraction"].default == 0.2


def test_library_use_of_the_group_raises() -> None:
    with pytest.raises(click.UsageError, match="no verb 'x'"):
        app.main(["x"], standalone_mode=False)
