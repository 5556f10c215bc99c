"""Files appear whole, once, and under names that tell their stretch of the log."""

import errno

import pyarrow.parquet as pq
import pytest
from file_calls import fails, instead
from lake_log import ALL, Written, stored
from mqframe_spark.durable_file import STORE_ID_FILE
from mqframe_spark.lake.parquet_files import ParquetFolder


def test_topics_and_days_have_folders_and_names_tell_the_stretch(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log)
    assert dispatcher.take(0, 12) == 0
    assert stored(tmp_path) == {}
    dispatcher.finish()
    assert stored(tmp_path) == ALL
    store = (tmp_path / STORE_ID_FILE).read_text().strip()
    (path,) = tmp_path.glob("parquet/orders/day=2023-11-14/*")
    assert path.name == f"broker-a-{store}-{log.ends[0]:020d}-{log.ends[5]:020d}.parquet"
    told = pq.ParquetFile(path).schema_arrow.metadata
    assert told[b"mqframe.topic"] == b"orders"
    assert told[b"mqframe.end"] == str(log.ends[5]).encode()


@pytest.mark.parametrize("done", range(5))
@pytest.mark.parametrize("after_rename", [False, True])
def test_a_crash_while_publishing_leaves_neither_gap_nor_repetition(
    tmp_path, log, monkeypatch, done, after_rename
) -> None:
    """The process dies while the file number `done` is published, before or just after it has its name."""

    class Died(BaseException):
        pass

    publish = ParquetFolder.publish
    count = 0

    def dying(folder, *arguments):
        nonlocal count
        if count == done:
            if after_rename:
                publish(folder, *arguments)
            raise Died
        count += 1
        return publish(folder, *arguments)

    dispatcher = Written(tmp_path, log, roll_rows=1)
    cursor = dispatcher.take(0, 1)
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", dying)
        with pytest.raises(Died):
            dispatcher.take(1, 12)
    again = Written(tmp_path, log, roll_rows=1)
    # The broker hands everything over again from its cursor on, which may lag behind.
    first = 0 if done % 2 else log.ends.index(cursor)
    assert again.take(first, 12) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_half_written_file_is_cleared_away(tmp_path, log, monkeypatch) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        instead(broken, tmp_path, "fsync", fails(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left"):
            dispatcher.take(0, 1)
    assert [path.name[0] for path in tmp_path.glob("parquet/*/*/*")] == ["."]
    assert stored(tmp_path) == {}
    Written(tmp_path, log)
    assert list(tmp_path.glob("parquet/*/*/*")) == []


def test_a_full_disk_is_tried_again_without_gap_or_repetition(tmp_path, log, monkeypatch) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", lambda *a: (_ for _ in ()).throw(OSError(28, "full")))
        for _ in range(2):
            with pytest.raises(OSError, match="full"):
                dispatcher.take(0, 12)
    assert dispatcher.take(0, 12) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_store_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path, log) -> None:
    kept = tmp_path / "kept"
    for name in ("old", "new"):
        dispatcher = Written(tmp_path / name, log, path=kept)
        dispatcher.take(0, 1)
        dispatcher.finish()
    assert len(list(kept.glob("orders/*/*.parquet"))) == 2
