"""The command line: ``crucial VERB ...``."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from crucial.cli.app import app

    app()
