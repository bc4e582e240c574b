"""How the documentation is built (``make docs``)."""

from __future__ import annotations

import warnings
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


def skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds for routing and forms of output: its docs explain it."""
    routing = name in ("get_metadata_routing", "set_output") or (
        name.startswith("set_") and name.endswith("_request")
    )
    return True if routing else None


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-skip-member", skip)
