"""The directive ``{study}``: run an item of a study, embed its picture and what it prints.

    ```{study} rankboost figure-4
    :table:
    The caption.
    ```

The item is run with ``--quick``; with the option ``recorded``, its numbers in ``studies/recorded``
are used instead. ``table`` adds the printed text, ``text`` leaves out the picture. An item that
fails ends the build.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))


class Study(SphinxDirective):
    """See the head of this module."""

    required_arguments = 2
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "recorded": directives.flag, "table": directives.flag, "text": directives.flag,
        "width": directives.unchanged,
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Return a figure, and the printed text."""
        from common import scripts

        script, name = self.arguments
        item = scripts()[script].items[name]
        how = "--recorded" if "recorded" in self.options else "--quick"
        picture = Path(self.env.srcdir) / "_studies" / f"{script}-{name}.png"
        drawn = item.has_picture and "text" not in self.options
        words = [how, *(["--plot", str(picture)] if drawn else [])]
        said = StringIO()
        with redirect_stdout(said), redirect_stderr(StringIO()):
            item.main(words, name, standalone_mode=False)
        for source in (f"{script}.py", "common.py"):
            self.env.note_dependency(str(STUDIES / source))
        command = f"python studies/{script}.py {name} --quick"
        if how == "--recorded":
            self.env.note_dependency(str(item.record))
            command = json.loads(item.record.read_text("utf-8"))["command"]
        out: list[nodes.Node] = []
        caption = nodes.paragraph()
        if self.content:
            parsed = self.parse_content_to_nodes()
            caption += parsed[0].children if parsed else []
            caption += nodes.Text(" ")
        caption += nodes.literal(command, command)
        if drawn:
            image = nodes.image(uri=f"/_studies/{picture.name}", alt=item.summary)
            image["width"] = self.options.get("width", "100%")
            figure = nodes.figure("", image, classes=["study"])
            figure += nodes.caption("", "", *caption.children)
            out.append(figure)
        else:
            out.append(caption)
        if "table" in self.options or not drawn:
            lines = [one for one in said.getvalue().splitlines() if not one.startswith("drawn: ")]
            text = "\n".join(lines)
            out.append(nodes.literal_block(text, text, language="text", classes=["study"]))
        return out


def setup(app: Any) -> dict[str, bool]:
    """Connect the directive."""
    app.add_directive("study", Study)
    return {"parallel_read_safe": True}
