"""How the documentation is built (``make docs``)."""

from __future__ import annotations

import inspect
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import crucial

project = "crucial"
author = "the crucial authors"
release = version = crucial.__version__
html_title = f"crucial {release}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
html_theme = "furo"
html_copy_source = False
nitpicky = False

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

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


(Path(__file__).parent / "reference").mkdir(exist_ok=True)
(Path(__file__).parent / "reference" / "index.md").write_text(reference(), "utf-8")


def skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds for routing and forms of output: its docs explain it."""
    routing = name in ("get_metadata_routing", "set_output") or (
        name.startswith("set_") and name.endswith("_request")
    )
    return True if routing else None


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-skip-member", skip)
