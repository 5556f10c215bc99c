"""Rows of several files come in order, whole, and only of files that are alike."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mqframe_spark.lake import rewriting
from mqframe_spark.lake.rewriting import alike_first, columns_of, row_groups

from mqframe.core.errors import GiveUpError


def test_rows_come_in_order_in_groups_of_a_size(tmp_path, monkeypatch) -> None:
    paths = [tmp_path / name for name in "abc"]
    for n, path in enumerate(paths):
        pq.write_table(pa.table({"x": range(n * 10, n * 10 + 10)}), path)
    files = [(str(path), path) for path in paths]
    [whole] = row_groups(files)
    assert whole.column("x").to_pylist() == list(range(30))
    monkeypatch.setattr(rewriting, "ROW_GROUP_BYTES", 100)
    parts = [table.column("x").to_pylist() for table in row_groups(files)]
    assert parts == [list(range(20)), list(range(20, 30))]
    assert list(row_groups([])) == []


def test_the_first_that_are_alike_are_taken_side_by_side() -> None:
    one, two = pa.schema([("x", pa.int64())]), pa.schema([("x", pa.int32())])
    columns = {1: one, 2: two, 3: two, 4: one, 5: one}.__getitem__
    assert alike_first([1, 2, 3, 4, 5], columns) == [2, 3]
    assert alike_first([4, 5, 2], columns) == [4, 5]
    assert alike_first([1, 2], columns) == [2]
    assert alike_first([], columns) == []


def test_a_damaged_file_is_named(tmp_path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 but no more")
    for read in (columns_of, lambda name, source: list(row_groups([(name, source)]))):
        with pytest.raises(GiveUpError, match=r"x\.parquet is damaged, so the files beside it"):
            read(str(path), path)
