"""The size of the source only falls: modules, code lines, public names; one name, one class."""

import ast
import io
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "crucial"
#: Lower these numbers where they fall. A feature that raises one says by how much, and what it made
#: unnecessary: see CONTRIBUTING.md.
MOST = {"modules": 187, "code lines": 57_803, "public names": 44}
#: Small fixes leave the number of lines alone.
SLACK = {"code lines": 100}

_BLANK = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(source: str) -> int:
    """Return the lines that are not blank, a comment or a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= {*range(first.lineno, (first.end_lineno or 0) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _BLANK:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - docstrings)


def test_the_source_does_not_grow() -> None:
    sources = [path.read_text() for path in SOURCE.rglob("*.py")]
    public = (SOURCE / "__init__.pyi").read_text().splitlines()
    found = {
        "modules": len(sources),
        "code lines": sum(map(code_lines, sources)),
        "public names": sum(line.startswith("from ") for line in public),
    }
    for name, most in MOST.items():
        slack = SLACK.get(name, 0)
        allowed = f"{most:,} (and a slack of {slack})" if slack else f"{most:,}"
        assert found[name] <= most + slack, (
            f"{name} are {found[name]:,}, {found[name] - most:,} above the {allowed} of MOST in "
            "tests/unit/test_house.py: find what can go, or raise the number and say in the commit "
            "by how much, and what the feature made unnecessary"
        )
        assert found[name] >= 0.99 * most, (
            f"{name} are {found[name]:,}, {most - found[name]:,} below the {most:,} of MOST in "
            "tests/unit/test_house.py: lower the number"
        )


def test_no_two_classes_share_a_name() -> None:
    names: list[str] = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names += [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted(names) == sorted({*names})
