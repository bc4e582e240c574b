"""List all studies: ``python studies``; ``--write`` renews docs/studies.md."""

import sys

from common import HERE, list_of_studies, write

if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        (HERE.parent / "docs" / "studies.md").write_text(list_of_studies(), "utf-8")
    else:
        write(list_of_studies(), nl=False)
