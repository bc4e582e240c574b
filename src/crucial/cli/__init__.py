"""The command line: ``crucial VERB ...``.

``app`` lists the verbs, one module each. Nothing heavy is imported before a verb does its
work, so that ``crucial --help`` answers at once.

The way of a verb: options (one typed object, `options`), readers (`rows`), one call into the
library, a result object, and its text (`terminal`).
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from crucial.cli.app import app

    app(prog_name="crucial")
