"""The group of verbs: help, what is typed wrongly, what fails."""

import warnings

import click
import pytest
from click.testing import CliRunner

from crucial.cli.app import VERBS, Verbs, app
from crucial.cli.terminal import FAILED, INTERRUPTED, REFUSED
from crucial.errors import DataError, DataWarning

from .conftest import type_command


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(ok, verb: str) -> None:
    said = ok(verb, "--help")
    assert said.stderr == ""
    assert f"crucial {verb}" in said.stdout
    assert "Examples:" in said.stdout
    command = app.get_command(click.Context(app), verb)
    assert command.get_short_help_str(limit=200) == VERBS[verb]


def test_no_words_ask_for_help(ok) -> None:
    assert type_command().stdout == ok("--help").stdout


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_80_columns(ok, monkeypatch, verb: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = ok(f"{verb} --help").stdout
    assert [line for line in said.splitlines() if len(line) > 80] == []


def typed(action) -> click.testing.Result:
    """Type a verb that does something."""

    class One(Verbs):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            return click.command("act")(action)

    return CliRunner().invoke(One("crucial"), ["train"])


def raises(error: BaseException):
    def action() -> None:
        raise error

    return action


def noted(error: BaseException) -> BaseException:
    error.add_note("Here it goes on.")
    return error


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(("error", "code", "said"), [
    (DataError("the first\n- and\n- second line"), REFUSED, "the first - and - second line"),
    (PermissionError(13, "Permission denied", "a.txt"), REFUSED, "a.txt: permission denied"),
    (FULL, FAILED, "standard output cannot be written: no space left on the disk."),
    (OSError(24, "Too many open files", "x.py"), FAILED, "too many open files: use fewer"),
    (MemoryError("9 GiB"), FAILED, "not enough memory. 9 GiB"),
    (ZeroDivisionError("division by zero"), FAILED, "a bug in crucial: ZeroDivisionError"),
    (KeyboardInterrupt(), INTERRUPTED, "interrupted"),
    (click.Abort(), INTERRUPTED, "interrupted"),
    (noted(KeyboardInterrupt()), INTERRUPTED, "interrupted; existing files are unchanged. Her"),
    (DataError("\x1b[31mred"), REFUSED, r"\x1b[31mred"),
])  # fmt: skip
def test_errors_become_one_line(error: BaseException, code: int, said: str) -> None:
    result = typed(raises(error))
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stderr.strip().count("\n") == 0


def test_tracebacks_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUCIAL_TRACEBACK", "1")
    assert isinstance(typed(raises(DataError("odd"))).exception, DataError)


def test_warnings_become_notes() -> None:
    def action() -> None:
        for _ in range(2):
            warnings.warn("two\nlines", DataWarning, stacklevel=1)
        for kind in (DeprecationWarning, FutureWarning):
            warnings.warn("for programmers", kind, stacklevel=1)

    result = typed(action)
    assert result.exit_code == 0
    assert result.stderr == "crucial: note: two lines\n"


def test_library_use_of_the_group_raises() -> None:
    with pytest.raises(click.UsageError, match="no verb 'x'"):
        app.main(["x"], standalone_mode=False)
