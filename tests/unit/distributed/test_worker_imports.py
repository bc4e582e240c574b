"""What a worker imports: every one of them pays for it."""

import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")

CODE = """
import sys
from crucial.distributed import transport
from crucial.distributed.input import ColumnRoles, Source, checked_rows

source = Source("x", None, ColumnRoles())
assert checked_rows(source, sys.argv[1], None)[0].instances.n_rows == 2
heavy = {"scipy", "sklearn", "pandas", "polars"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_worker_needs_neither_scikit_learn_nor_pandas(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"qid": [1, 1], "label": [0, 1], "a": [0.5, None]}), path)
    subprocess.run([sys.executable, "-c", CODE, str(path)], check=True)
