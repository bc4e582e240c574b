"""How the documentation is built (``make docs``)."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import crucial
from crucial.cli.app import VERBS, app
from crucial.io.options import TableOptions

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "crucial"
author = copyright = "the crucial authors"
release = version = crucial.__version__
html_title = f"crucial {release}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "study",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst", "**.ipynb"]
templates_path = ["_templates"]
html_theme = "furo"
html_copy_source = False
smartquotes = False  # options begin with two hyphens
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_live"]  # the pages that the guides write, as pages/report.html and so on
nitpicky = False

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

# Cells of ``{code-cell}`` run in a fresh folder; what they print and draw is on the page.
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_number_source_lines = False
nb_execution_show_tb = True
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["COLUMNS"] = "90"  # as wide as a cell
# ``!`` lines show what a command prints without a terminal, and end the build where they fail.
KERNEL = """
import subprocess

def system(line):
    done = subprocess.run(line, shell=True, text=True, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"{line} ended with {done.returncode}")

get_ipython().system = system
"""
os.environ["IPYTHONDIR"] = tempfile.mkdtemp()
(startup := Path(os.environ["IPYTHONDIR"]) / "profile_default" / "startup").mkdir(parents=True)
(startup / "commands.py").write_text(KERNEL, "utf-8")

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what is taken, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1_000_000,  # times depend on the machine
    "reset_modules": (),
    "abort_on_example_error": True,
}
suppress_warnings = ["config.cache"]

warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown.*")


#: Packages in the order of the reference.
PACKAGES = ["", ".rankers", ".inspection", ".fusion", ".preferences", ".recommend", ".lab",
            ".measures", ".data", ".io", ".feedback", ".model", ".distributed"]  # fmt: skip


def public_names(package: str) -> dict[str, list[str]]:
    """Return the public names of a package under the headings of its stub."""
    module = import_module(package)
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    if not stub.exists():
        return {"": list(module.__all__)}
    groups: dict[str, list[str]] = {}
    for line in stub.read_text("utf-8").splitlines():
        if line.startswith("# "):
            groups[line[2:]] = []
        elif name := re.search(r"import (\w+) as", line):
            [*groups.values()][-1].append(name[1])
    return groups


def reference() -> str:
    """Return the page of the reference: every public name once, grouped as in the stubs."""
    lines, listed = ["# Reference", ""], set()
    for package in [f"crucial{end}" for end in PACKAGES]:
        lines += [f"## `{package}`", ""]
        for heading, names in public_names(package).items():
            values = {name: getattr(import_module(package), name) for name in names}
            new = {name: value for name, value in values.items()
                   if name not in listed and (inspect.isclass(value) or inspect.isfunction(value))
                   }  # fmt: skip
            listed |= {*new}
            if not new:
                continue
            lines += [f"### {heading}", ""] if heading else []
            lines += ["```{eval-rst}", f".. currentmodule:: {package}"]
            for template, wanted in (["   :template: class.rst"], True), ([], False):
                names = [name for name, value in new.items() if inspect.isclass(value) is wanted]
                if names:
                    lines += [".. autosummary::", "   :toctree: generated", *template, ""]
                    lines += [*(f"   {name}" for name in names), ""]
            lines += ["```", ""]
    return "\n".join(lines)


def command_line() -> str:
    """Return the verbs of the command line with their options, as click has them."""
    lines: list[str] = []
    # (a context made as for a call: a command keeps the help option of the first one it gets)
    parent = app.make_context("crucial", [], resilient_parsing=True)
    for name in VERBS:
        command = app.get_command(parent, name)
        context = command.make_context(name, [], parent, resilient_parsing=True)
        usage = command.get_usage(context).removeprefix("Usage: ")
        lines += [f"## {name}", "", "```text", usage, "```", ""]
        for part in inspect.cleandoc(f"{command.help}\n\n{command.epilog or ''}").split("\n\n"):
            marked = part.strip("\n").removeprefix("\b\n")
            heading, _, examples = marked.partition("\n")
            if heading.endswith(":") and examples.startswith("  "):
                lines += [heading, "", "```text", inspect.cleandoc(examples), "```", ""]
            else:
                lines += [marked.replace("*", r"\*").replace("<", r"\<"), ""]
        sections: dict[str, list[str]] = {}
        for option in command.params:
            record = option.get_help_record(click.Context(command))
            if isinstance(option, click.Option) and record is not None:
                heading = getattr(option, "heading", "Options")
                text = record[1].replace("*", r"\*").replace("<", r"\<")
                sections.setdefault(heading, []).extend([f"`{record[0]}`", f": {text}", ""])
        for heading, options in sections.items():
            lines += [f":::{{dropdown}} {heading}", *options, ":::", ""]
    return "\n".join(lines)


def stored_options() -> str:
    """Return the flags of the options of tables that a model stores."""
    stored = {one.name for one in fields(TableOptions) if one.metadata["stored"] != "never"}
    flags = [
        (one.secondary_opts or one.opts)[-1]  # (a switch that is on: what turns it off)
        for one in app.get_command(click.Context(app), "train").params
        if one.name in stored
    ]
    return ", ".join(f"`{flag}`" for flag in flags) + ".\n"


(Path(__file__).parent / "reference").mkdir(exist_ok=True)
(Path(__file__).parent / "reference" / "index.md").write_text(reference(), "utf-8")
(Path(__file__).parent / "reference" / "verbs.txt").write_text(command_line(), "utf-8")
(Path(__file__).parent / "reference" / "stored.txt").write_text(stored_options(), "utf-8")


def skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds for routing and forms of output: its docs explain it."""
    routing = name in ("get_metadata_routing", "set_output") or (
        name.startswith("set_") and name.endswith("_request")
    )
    return True if routing else None


def make_pages(app: Any, config: Any) -> None:
    """Run the guides that write pages, into a folder that is copied to the site."""
    docs = Path(__file__).parent
    script = docs.parent / "scripts" / "guides.py"
    subprocess.run([sys.executable, script, docs / "_live" / "pages"], check=True)


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("config-inited", make_pages, priority=100)  # before Sphinx looks for the folder
    app.connect("autodoc-skip-member", skip)
