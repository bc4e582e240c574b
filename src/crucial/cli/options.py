"""Declare the options of a verb once, as the fields of one typed object.

The options of a verb are a frozen dataclass. A field's name and annotation give click the flag
and the type, `option` adds the help text, the default and the range, and `verb` fills the
object::

    @dataclass(frozen=True)
    class ShowOptions:
        model: File = argument()
        features: int = option("Features to draw, heaviest first.", default=10, low=0)
        json: bool = option("Print everything as JSON.")

    @verb("show", ShowOptions)
    def show_command(options: ShowOptions) -> None:
        '''Show what MODEL learned.'''

======================  ================================================
annotation              command line
======================  ================================================
``int``, ``float``      a number, within the range if one is given
``str``, ``File``       a text, a path
``Literal["a", "b"]``   one of the words; numbers come back as numbers
``bool``                a flag; ``bool | None`` for ``--on/--off``
``tuple[str, ...]``     an option or argument that may be repeated
======================  ================================================

Options that several verbs share are base classes, such as `RowOptions`; they follow the verb's
own options in the help text, each class under its ``heading``.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from crucial.errors import Message
from crucial.io.options import SvmlightOptions, TableOptions
from crucial.parameters import lookup
from crucial.rankers.registry import RANKERS, ranker_class

Options = TypeVar("Options")


class _FileName(click.Path):
    """The name of a file, or - for a standard stream; an empty one is an unset variable."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name of the file is empty.", param, ctx)
        return super().convert(value, param, ctx)


def _text(value: str) -> str:
    """Refuse bytes that are no text in the terminal's encoding: they cannot be written anywhere."""
    try:
        value.encode()
    except UnicodeEncodeError:
        problem = f"{value!a} is not text in the encoding of this terminal."
        raise click.BadParameter(problem) from None
    return value


#: A path on the command line.
File: TypeAlias = Annotated[str, "file"]


def argument(**settings: Any) -> Any:
    """Declare a positional argument."""
    return field(metadata={"argument": settings})


def option(
    help: str,
    *flags: str,
    low: float | None = None,
    high: float | None = None,
    low_open: bool = False,
    **settings: Any,
) -> Any:
    """Declare an option.

    Parameters
    ----------
    help : str
        The help text.
    *flags : str
        A short flag, which is added to the one of the field's name; or long ones in its place.
    low, high : float, optional
        The range of a number.
    low_open : bool
        Whether the lowest value is itself outside the range.
    **settings
        Of `click.Option`. A default that is not None is shown.
    """
    bounds = {} if low is high is None else {"min": low, "max": high, "min_open": low_open}
    return field(metadata={"option": (flags, bounds, {"help": help, **settings})})


def name_option(
    help: str,
    registry: Iterable[str],
    what: str,
    meant: Mapping[str, Message] | None = None,
    **settings: Any,
) -> Any:
    """Declare an option that takes a name of a register; the error names what is close to it."""

    def known(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is not None:
            lookup(dict.fromkeys(registry), value, what, meant)
        return value

    return option(help, callback=known, **settings)


def measures_option(default: str, role: str = "A measure, such as ndcg@10 or map") -> Any:
    """Declare ``-m``; the default is for the help text only."""
    about = (
        f"{role}, or several with commas; may be repeated ('crucial list measures' lists them). "
        f"[default: {default}]"
    )
    return option(about, "-m", "--metric")


class _Option(click.Option):
    """An option that stands under a heading in the help text."""

    heading = "Options"


class _Verb(click.Command):
    """A command whose help text has its options under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; where a verb takes settings, an unknown option may be one of them."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if all(one.name != "settings" for one in self.params):
                raise
            name = error.option_name.lstrip("-").replace("-", "_")
            raise click.UsageError(
                f"{error.format_message()} A parameter of the ranker is set by --set {name}=VALUE.",
                ctx,
            ) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option):
                heading = getattr(parameter, "heading", _Option.heading)
                record = parameter.get_help_record(ctx)
                groups.setdefault(heading, []).extend([] if record is None else [record])
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _parameters(options: type[Any]) -> list[click.Parameter]:
    """Return click's parameters for a dataclass of options, those of base classes last."""
    hints = typing.get_type_hints(options, include_extras=True)
    declared = {field.name: field.metadata for field in fields(options)}
    headings: dict[str, str] = {}
    for base in options.__mro__:
        for name in inspect.get_annotations(base):
            headings.setdefault(name, vars(base).get("heading", _Option.heading))
    parameters: list[click.Parameter] = []
    for name, heading in headings.items():
        if not {"option", "argument"} & declared.get(name, {}).keys():
            continue
        kind, several = _value_type(hints[name])
        if "argument" in declared[name]:
            fallback = {"nargs": -1 if several else 1, "type": _FileName()}
            parameters.append(click.Argument([name], **(fallback | declared[name]["argument"])))
            continue
        flags, bounds, settings = declared[name]["option"]
        if not any(flag.startswith("--") for flag in flags):
            flags = (*flags, f"--{name.replace('_', '-')}")
        settings = {**_click_settings(kind, bounds), "multiple": several, **settings}
        settings.setdefault("show_default", settings.get("default") is not None)
        parameters.append(_Option([*flags, name], **settings))
        parameters[-1].heading = heading  # type: ignore[attr-defined]
    return parameters


def _value_type(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value, and whether there may be several."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    if get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [one for one in get_args(hint) if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else str, False
    return hint, False


def _click_settings(kind: Any, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return click's settings of an option whose values are of a type."""
    if kind is bool:
        return {"is_flag": True, "show_default": False}
    if get_origin(kind) is Literal:
        values = {str(value): value for value in get_args(kind)}
        return {
            "type": click.Choice(list(values)),
            "callback": lambda _, __, text: values.get(text),
        }
    if kind is int:
        return {"type": click.IntRange(**bounds) if bounds else int, "metavar": "N"}
    if kind is float:
        return {"type": click.FloatRange(**bounds) if bounds else float, "metavar": "X"}
    if get_origin(kind) is Annotated:
        return {"type": _FileName(), "metavar": "FILE"}
    return {"type": _text, "metavar": "NAME"}


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options of the running verb that were given and would not be looked at.

    Parameters
    ----------
    names : iterable of str
        Names of fields.
    why : str
        Follows the flag: "needs --intervals."
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in names:
            flag = next(one for one in parameter.opts if one.startswith("--"))
            raise click.UsageError(f"{flag} {why}")


def verb(
    name: str, options: type[Options], *, without: tuple[str, ...] = ()
) -> Callable[[Callable[[Options], None]], click.Command]:
    """Make a command of a function that takes one object of options.

    The docstring of the function is the command's help text; its examples, and what follows
    them, are shown below the options.

    Parameters
    ----------
    name : str
    options : type
        A dataclass of options.
    without : tuple of str
        Fields of shared options that the verb cannot use: it has no such option.
    """
    parameters = _parameters(options)
    unused: dict[str, Any] = {
        str(one.name): () if getattr(one, "multiple", False) else None
        for one in parameters
        if one.name in without
    }

    def wrap(action: Callable[[Options], None]) -> click.Command:
        about, examples = split_help(inspect.getdoc(action))
        return _Verb(
            name,
            callback=lambda **values: action(options(**values, **unused)),
            params=[one for one in parameters if one.name not in without],
            help=about,
            epilog=examples,
        )

    return wrap


def split_help(text: str | None) -> tuple[str, str]:
    """Split a help text before its first block of examples, which click marks with ``\\b``."""
    about, mark, examples = (text or "").partition("\b\n")
    return about, mark + examples


@dataclass(frozen=True)
class JobsOptions:
    """The number of threads."""

    jobs: int | None = option("Number of threads. [default: all cores]", low=1)


@dataclass(frozen=True)
class NameOptions:
    """Names for features that have numbers."""

    heading: ClassVar[str] = SvmlightOptions.heading

    feature_names: File | None = option(
        "Names of the features of svmlight lines: one name per line, the first feature first, or "
        "'index name'."
    )


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check the address of a scheduler; "" stands for a cluster of this machine."""
    if value and not re.fullmatch(r"[\w+.-]+://.+|[^/\s]+:\d+", value):
        raise click.BadParameter(
            f"'{value}' is not the address of a Dask scheduler, such as tcp://host:8786. Write "
            "--dask=ADDRESS, or --dask after DATA."
        )
    return value


@dataclass(frozen=True)
class ClusterOptions:
    """Whether to work on a Dask cluster."""

    heading: ClassVar[str] = "Large data"

    dask: str | None = option(
        "Work on a Dask cluster, whose workers read the files of DATA. Without ADDRESS, a cluster "
        "is started on this machine.",
        is_flag=False,
        flag_value="",
        metavar="[=ADDRESS]",
        callback=_address,
    )

    @property
    def on_cluster(self) -> bool:
        """Whether ``--dask`` was given."""
        return self.dask is not None


@dataclass(frozen=True)
class MeasuringOptions:
    """Options of computing and writing measures."""

    heading: ClassVar[str] = "Measuring"

    ties: Literal["expected", "trec"] = option(
        "How equal scores count: by expectation over random order, or as in trec_eval.",
        default="expected",
    )
    empty: Literal["skip", 0, 1] = option(
        "What a query without a relevant item, or without a pair, counts as.", default="skip"
    )
    json: bool = option("Write the result as JSON.")
    seed: int = option("Seed for all random draws.", low=0, default=0)


@dataclass(frozen=True)
class RowOptions(SvmlightOptions, TableOptions, JobsOptions):
    """Options of reading files of rows; None, or empty, where an option is not set."""

    heading: ClassVar[str] = "Files of rows"

    input_format: Literal["auto", "svmlight", "table"] | None = option(
        "Format of DATA; CSV, JSON lines, Excel and parquet are tables. "
        "[default: recognised by the file's name and content]"
    )

    @classmethod
    def as_trained(cls, **given: Any) -> RowOptions:
        """Return the options of a reader of rows; those not passed are taken from training."""
        none: dict[str, Any] = {
            one.name: () if one.default == () else None for one in fields(RowOptions)
        }
        return cls(**(none | given))

    def explicit(self) -> dict[str, Any]:
        """Return the options about rows that were given on the command line, by name."""
        values = {
            one.name: getattr(self, one.name)
            for one in fields(RowOptions)
            if "option" in one.metadata and one.name != "jobs"
        }
        return {name: value for name, value in values.items() if value not in (None, "", ())}


# --- Rankers and measures by name


#: The rankers that ``train`` takes.
RANKER_NAMES = ["auto", *RANKERS]


def estimator_named(name: str) -> type[Any]:
    """Return the estimator of a name; "auto" chooses among the others."""
    if name != "auto":
        return ranker_class(name)
    from crucial.lab.auto_ranker import AutoRanker

    return AutoRanker


#: The measure that applies where none is named, for help texts.
DEFAULT_MEASURE = "ndcg@10; auc without queries, or with labels below 0"


def measure_names(texts: Iterable[str]) -> list[str]:
    """Return the full names of measures as the user wrote them; unknown ones are refused."""
    from crucial.measures.names import get_measures

    return [one.name for one in get_measures(texts)]
