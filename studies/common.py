"""What the studies share: items of a paper, their numbers and pictures, data, and figures.

A script has a group of items, ``app = studies(__doc__)``. An item is a table, a figure or a theorem
of the paper. It computes numbers (plain JSON), prints them and may draw them:

    @app.item("figure-4", minutes=2, quick={"rounds": 20})
    @click.option("--rounds", type=int, default=200)
    def figure_4(rounds: int) -> Numbers:
        \"\"\"Train and test error of four weak learners by round: figure 4.\"\"\"
        return {"data": "made-up engines", "rounds": rounds, ...}

    @figure_4.shows
    def print_figure_4(numbers: Numbers) -> None: ...

    @figure_4.draws
    def draw_figure_4(numbers: Numbers) -> Figure: ...

``python studies/SCRIPT.py figure-4`` prints it, ``--plot FILE`` draws it, ``--quick`` takes a
minute at most, ``--record`` keeps the numbers in studies/recorded, from which ``--recorded`` prints
and draws them without computing. ``python studies/SCRIPT.py all`` runs all items, and ``python
studies`` lists them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource

from crucial.errors import CrucialError, MissingExtraError
from crucial.progress import progress_bar
from crucial.types import PathLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.lab.results import ExperimentResult
    from crucial.results import Axes

#: What an item computes: names to numbers, texts, and lists and tables of them. ``"data"`` says in
#: words which data were used. Names that begin with "seconds" are times, which no test compares.
Numbers: TypeAlias = dict[str, Any]

#: Prints a line.
write = click.echo

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
_DIGITS = 6  # of recorded numbers


@dataclass(frozen=True)
class Source:
    """A data set that cannot be part of the project.

    Attributes
    ----------
    title : str
    path : str
        Its file or folder in the folder of ``--data``.
    remedy : str
        How to get it.
    """

    title: str
    path: str
    remedy: str


LETOR_SITE = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval"
)
SOURCES: dict[str, Source] = {
    "movielens": Source(
        "MovieLens-100K", "ml-100k.inter", "python scripts/movielens.py FOLDER/ml-100k.inter"
    ),
    "mq2007": Source("MQ2007 of LETOR 4.0", "mq2007", f"folds or parts S1 to S5 from {LETOR_SITE}"),
    "mq2008": Source("MQ2008 of LETOR 4.0", "mq2008", f"folds or parts S1 to S5 from {LETOR_SITE}"),
    "mq2008_list": Source(
        "MQ2008-list of LETOR 4.0", "mq2008-list", f"Fold1 to Fold5 from {LETOR_SITE}"
    ),
    "web10k": Source("MSLR-WEB10K", "web10k", "its folds, from Microsoft Research"),
    "robust03": Source(
        "six runs of TREC's 2003 Robust track", "robust03", "*.run and *.qrels, from TREC"
    ),
    "treerank": Source(
        "three sets of the TreeRank package", "treerank", "the R package, in CRAN's archive"
    ),
}  # fmt: skip


class Item(click.Command):
    """A table, a figure or a theorem of a paper; see the head of this module.

    Attributes
    ----------
    needs : tuple of str
        Keys of `SOURCES`: the function's parameter ``data`` has the paths of those that are there.
    minutes : float
        About how long it takes on one core.
    quick, tiny : dict
        Values of parameters for ``--quick``, and for tests of some seconds.
    """

    def __init__(
        self,
        name: str,
        script: str,
        compute: Callable[..., Numbers],
        needs: Sequence[str],
        minutes: float,
        quick: Mapping[str, Any],
        tiny: Mapping[str, Any] | None,
    ) -> None:
        own = list(reversed(getattr(compute, "__click_params__", ())))
        super().__init__(name, params=own, callback=compute, help=compute.__doc__)
        self.script, self.needs, self.minutes = script, tuple(needs), minutes
        self.quick, self.tiny = dict(quick), dict(quick if tiny is None else tiny)
        self._show: Callable[[Numbers], None] | None = None
        self._draw: Callable[[Numbers], Figure] | None = None

    def shows(self, function: Callable[[Numbers], None]) -> Callable[[Numbers], None]:
        """Register what prints the numbers."""
        self._show = function
        return function

    def draws(self, function: Callable[[Numbers], Figure]) -> Callable[[Numbers], Figure]:
        """Register what draws the numbers."""
        self._draw = function
        return function

    @property
    def has_picture(self) -> bool:
        """Whether the item can be drawn."""
        return self._draw is not None

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.help or "").strip().splitlines()[0]

    @property
    def record(self) -> Path:
        """The file of the recorded numbers, which may not exist."""
        return RECORDED / self.script / f"{self.name}.json"

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the function and those that all items have."""
        out = list(self.params)
        if self.needs:
            titles = "; ".join(f"{SOURCES[one].path}: {SOURCES[one].title}" for one in self.needs)
            folder = click.Path(exists=True)
            text = f"folder with the data ({titles}), or a file like them; generated data without"
            out.append(click.Option(["--data"], type=folder, metavar="FOLDER", help=text))
        out.append(click.Option(["--quick"], is_flag=True, help="a minute's version"))
        if self.has_picture:
            text = "also draw, to this file; needs matplotlib"
            out.append(click.Option(["--plot"], metavar="FILE", help=text))
        text = f"keep the numbers in {self.record.relative_to(HERE.parent)}"
        out.append(click.Option(["--record"], is_flag=True, help=text))
        text = "compute nothing, use the numbers kept there"
        out.append(click.Option(["--recorded"], is_flag=True, help=text))
        return [*out, *([help] if (help := self.get_help_option(ctx)) else [])]

    def invoke(self, ctx: click.Context) -> None:
        """Compute, print, and draw or keep the numbers as asked."""
        settings = dict(ctx.params)
        plot, keep = settings.pop("plot", None), settings.pop("record")
        quick, folder = settings.pop("quick"), settings.pop("data", None)
        if settings.pop("recorded"):
            numbers = self.recorded()["numbers"]
        else:
            chosen = {name: value for name, value in settings.items()
                      if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}  # fmt: skip
            settings |= {**self.quick, **chosen} if quick else {}
            began = time.process_time()
            numbers = self.compute(settings, folder)
            if keep:
                self._keep(numbers, chosen, quick, folder, time.process_time() - began)
        self.show(numbers)
        if plot is not None:
            write(f"drawn: {self.draw(numbers, plot)}")

    def compute(self, settings: Mapping[str, Any], folder: PathLike | None = None) -> Numbers:
        """Return the numbers, from the data in a folder if it has them."""
        given = dict(settings)
        if self.needs:
            given["data"] = {}
            for name in self.needs:
                path = Path(folder or "")
                path = path if path.is_file() else path / SOURCES[name].path
                if folder is not None and path.exists():
                    given["data"][name] = path
                else:
                    place = "no --data" if folder is None else f"not in {folder}"
                    write(f"{SOURCES[name].title}: {place} ({SOURCES[name].remedy})", err=True)
        defaults = self.make_context(self.name, []).params
        given = {str(one.name): defaults[str(one.name)] for one in self.params} | given
        assert self.callback is not None
        numbers: Numbers = rounded(self.callback(**given))
        assert isinstance(numbers.get("data"), str), "numbers say which data they are from"
        return numbers

    def show(self, numbers: Numbers) -> None:
        """Print the numbers."""
        write(f"{self.summary}\nData: {numbers['data']}")
        assert self._show is not None, f"{self.name} has no @shows"
        self._show(numbers)

    def draw(self, numbers: Numbers, path: PathLike) -> Path:
        """Draw the numbers to a file; return its path."""
        assert self._draw is not None
        return save_figure(self._draw(numbers), path)

    def recorded(self) -> dict[str, Any]:
        """Return the recorded numbers with the command that computed them."""
        if not self.record.exists():
            raise click.UsageError(f"no numbers are recorded in {self.record}; use --record first.")
        return dict(json.loads(self.record.read_text("utf-8")))

    def _keep(
        self, numbers: Numbers, chosen: Mapping[str, Any], quick: bool, folder: Any, seconds: float
    ) -> None:
        words = [f"python studies/{self.script}.py {self.name}"]
        for name, value in chosen.items():
            if name in ("folder", "jobs"):  # (neither changes a number)
                continue
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            flag = f"--{name.replace('_', '-')}"
            words += [flag] if value is True else [flag, text]
        words += ["--data FOLDER"] if folder is not None else []
        words += ["--quick"] if quick else []
        entry = {"command": " ".join(words), "seconds": round(seconds), "numbers": numbers}
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.record.write_text(json_text(entry), "utf-8")


def title_of(data: Mapping[str, Path], name: str) -> str:
    """Return the title of a data set, or the name of a file that is given in its place."""
    source = SOURCES[name]
    return source.title if data[name].name == source.path else data[name].name


def rounded(value: Any) -> Any:
    """Return plain JSON values, floats with six digits.

    Examples
    --------
    >>> rounded({"a": (1 / 3, 2), "b": "x"})
    {'a': [0.333333, 2], 'b': 'x'}
    """
    if isinstance(value, Mapping):
        return {str(name): rounded(one) for name, one in value.items()}
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if hasattr(value, "tolist"):  # (arrays and numbers of NumPy)
        return rounded(value.tolist())
    if isinstance(value, Iterable):
        return [rounded(one) for one in value]
    return float(f"{value:.{_DIGITS}g}")


class Studies(click.Group):
    """The items of a script: an error of the library is one line, and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run an item."""
        try:
            return super().invoke(ctx)
        except CrucialError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(2)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the script."""
        return list(self.commands)

    @property
    def items(self) -> dict[str, Item]:
        """The tables, figures and theorems, by name."""
        return {name: one for name, one in self.commands.items() if isinstance(one, Item)}

    def item(
        self,
        name: str,
        *,
        needs: Sequence[str] = (),
        minutes: float = 1,
        quick: Mapping[str, Any] | None = None,
        tiny: Mapping[str, Any] | None = None,
    ) -> Callable[[Callable[..., Numbers]], Item]:
        """Return a decorator that makes an `Item` of a function."""

        def decorate(function: Callable[..., Numbers]) -> Item:
            script = Path(function.__code__.co_filename).stem
            one = Item(name, script, function, needs, minutes, quick or {}, tiny)
            self.add_command(one)
            return one

        return decorate


def studies(description: str) -> Studies:
    """Return the group of a script; the description is the script's docstring."""
    settings = {"help_option_names": ["-h", "--help"], "show_default": True}
    app = Studies(help=description, context_settings=settings)

    @app.command("all")
    @click.option("--data", type=click.Path(exists=True, file_okay=False), metavar="FOLDER")
    @click.option("--quick", is_flag=True, help="a minute's version of each")
    @click.option("--plots", metavar="FOLDER", help="also draw, as PNG")
    @click.option("--record", is_flag=True, help="keep the numbers in studies/recorded")
    def run_all(data: str | None, quick: bool, plots: str | None, record: bool) -> None:
        """Make every table and figure."""
        for name, one in steps("items", list(app.items.items())):
            words = ["--quick"] * quick + ["--record"] * record
            words += ["--data", data] if data is not None and one.needs else []
            if plots is not None and one.has_picture:
                words += ["--plot", str(Path(plots) / f"{name}.png")]
            write(f"\n== {name}")
            one.main(words, name, standalone_mode=False)

    return app


def steps(label: str, values: Iterable[Any], total: int | None = None) -> Iterator[Any]:
    """Yield the values behind a progress bar (lines on standard error without a terminal)."""
    if total is None:
        values = list(values)
        total = len(values)
    with progress_bar(label, total, verbose=1) as show:
        for done, one in enumerate(values, 1):
            yield one
            if show is not None:
                show(done, "")


def scripts() -> dict[str, Studies]:
    """Return the groups of all scripts, by name."""
    out = {}
    for path in sorted(HERE.glob("*.py")):
        app = getattr(import_module(path.stem), "app", None) if path.stem[0] != "_" else None
        if isinstance(app, Studies):
            out[path.stem] = app
    return out


_HEAD = """\
# Studies of the papers

One script per paper, in `studies/`, makes its tables and figures: `python studies/NAME.py --help`
lists them, and `python studies/NAME.py all --data FOLDER --plots FOLDER` makes them. `--quick` is a
minute's version, `--plot FILE` draws. Data that may not be passed on are read from the folder of
`--data`; what is missing there is replaced by generated data, and the first lines of the output say
so. Minutes are those of one core. Where "recorded" is ticked, `studies/recorded` has the numbers of
a full run with their command, and `--recorded` prints and draws them.

| data | file or folder in FOLDER | how to get it |
|---|---|---|
"""


def list_of_studies() -> str:
    """Return docs/studies.md: every item with its command, time, data and picture."""
    lines = [f"| {one.title} | `{one.path}` | {one.remedy} |" for one in SOURCES.values()]
    pages = sorted((HERE.parent / "docs" / "papers").glob("*.md"))
    texts = {page.name: page.read_text("utf-8") for page in pages}
    for script, app in scripts().items():
        title = (app.help or "").strip().splitlines()[0].rstrip(".")
        lines += ["", f"## {title}", ""]
        lines += [
            "| command | what | minutes | data | recorded | picture |",
            "|---|---|---|---|---|---|",
        ]
        for name, one in app.commands.items():
            if name == "all":
                continue
            summary = (one.help or "").strip().splitlines()[0]
            summary = summary.replace("|", r"\|")
            cells = [f"`{script}.py {name}`", summary, "", "named on the command line", "", ""]
            if isinstance(one, Item):
                titles = [SOURCES[need].title for need in one.needs]
                embedded = [page for page, text in texts.items()
                            if re.search(rf"\{{study\}} {script} {name}$", text, re.M)]  # fmt: skip
                picture = "✓" * one.has_picture
                if one.has_picture and embedded:
                    picture = f"[shown](papers/{embedded[0]})"
                cells[2:] = [f"{one.minutes:g}", ", ".join(titles) or "generated",
                             "✓" * one.record.exists(), picture]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return _HEAD + "\n".join(lines) + "\n"


def json_text(value: Any) -> str:
    """Return JSON in lines, lists of plain values in one line each.

    Examples
    --------
    >>> print(json_text({"a": [1, 2.5], "b": {"c": []}}), end="")
    {
     "a": [1, 2.5],
     "b": {
      "c": []
     }
    }
    """
    text = json.dumps(value, indent=1, ensure_ascii=False)
    one_line = partial(re.sub, r"\s*\n\s*", " ")
    flat = re.sub(r"\[[^\[\]{}]*\]", lambda found: one_line(found[0]), text)
    return flat.replace("[ ", "[").replace(" ]", "]") + "\n"


class Listed(click.ParamType):
    """Values separated by commas, each of one type."""

    name = "list"

    def __init__(self, kind: Callable[[str], Any] = str, choices: Sequence[Any] = ()) -> None:
        self.kind, self.choices = kind, tuple(choices)

    def convert(self, value: Any, param: Any, context: click.Context | None) -> tuple[Any, ...]:
        """Return the values; refuse one that is no choice."""
        if not isinstance(value, str):
            return tuple(value)
        try:
            found = tuple(self.kind(one.strip()) for one in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of {self.kind.__name__} separated by commas.", param)
        for one in found:
            if self.choices and one not in self.choices:
                self.fail(f"{one!r} is not one of {', '.join(map(str, self.choices))}.", param)
        return found


def list_option(
    name: str,
    default: Sequence[Any] | None = None,
    kind: Callable[[str], Any] = int,
    choices: Sequence[Any] = (),
    text: str | None = None,
) -> Any:
    """Return an option of values separated by commas."""
    listed = None if default is None else ",".join(map(str, default))
    metavar = "|".join(map(str, choices)) + ",..." if choices else "LIST"
    return click.option(
        name, type=Listed(kind, choices), default=listed, help=text, metavar=metavar
    )


def experiment_options(seed: str, rounds: int | None = 200) -> Callable[[Any], Any]:
    """Add the options of a study that is an experiment; ``seed`` is what its seed is for."""
    options = (
        click.option("--rounds", type=int, default=rounds),
        click.option("--seed", type=int, default=0, help=seed),
        click.option("--folder", help="stores finished cells: a killed run can be continued"),
        click.option("--report", help="also write a page"),
        click.option("--jobs", type=int, default=-1),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def print_experiment(
    run: Callable[[], ExperimentResult],
    print_tables: Callable[[ExperimentResult], None],
    title: str,
    page: str | None,
) -> None:
    """Run a study's experiment and print its time, its failures and its tables.

    ``page`` is a file to write the report to, if any.
    """
    began = time.perf_counter()
    found = run()
    write(f"{found!r} in {time.perf_counter() - began:.0f} s")
    for one in found.failures:
        write(f"failed: {one}")
    print_tables(found)
    if page:
        found.report(page, title)


def new_figure(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.4), **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a new figure of some size in inches, drawn without a screen, and its axes by row.

    The options are those of ``Figure.subplots``.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed: pip install 'crucial[plots]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def save_figure(figure: Figure, path: PathLike) -> Path:
    """Write a figure to a file of the kind that its name says; return its path."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=120)
    return place
