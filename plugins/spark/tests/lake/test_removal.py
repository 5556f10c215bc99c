"""Files may go, by retention, by size or by hand: nothing comes again, nothing is missing."""

import shutil

import pytest
from lake_log import ALL, DAY, Log, Time, Written, stored
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.parquet_files import ParquetFolder
from mqframe_spark.lake.slot_ends import SlotEnds

from mqframe.core.errors import GiveUpError

NOW_MS = 1_700_000_000_000


def files(root) -> list[str]:
    """Their names, oldest first by what they hold."""
    return sorted((path.name for path in root.glob("parquet/*/*/*.parquet")), key=lambda name: name[-28:])


def total(root) -> int:
    return sum(path.stat().st_size for path in root.glob("parquet/*/*/*.parquet"))


def test_the_oldest_files_go_when_all_are_too_large(tmp_path, log) -> None:
    whole = Written(tmp_path / "whole", log, roll_rows=1)
    whole.take(0, 12)
    limit = total(tmp_path / "whole") // 2
    bounded = Written(tmp_path, log, roll_rows=1, size_bytes_max=limit)
    for first in range(0, 12, 2):
        bounded.take(first, first + 2)
        assert total(tmp_path) <= limit
    kept, every = files(tmp_path), files(tmp_path / "whole")
    assert [name[-48:] for name in kept] == [name[-48:] for name in every[-len(kept) :]]
    assert 1 < len(kept) < len(every)
    # Folders that are empty go as well.
    assert not (tmp_path / "parquet/orders/day=2023-11-14").exists()


def test_what_was_removed_for_its_size_does_not_come_again(tmp_path, log) -> None:
    written = Written(tmp_path, log, roll_rows=1, size_bytes_max=1)
    for number in range(12):
        written.take(number, number + 1)
    [last] = files(tmp_path)
    assert f"-{log.ends[9]:020d}-" in last or f"-{log.ends[10]:020d}" in last
    again = Written(tmp_path, log, roll_rows=1)
    assert again.take(0, 12) == log.ends[12]
    assert files(tmp_path) == [last]
    # What comes afterwards is taken in as ever.
    log.add("orders", day=1)
    again.take(12, 13)
    assert stored(tmp_path)["orders/day=2023-11-15"][-1] == 12


def test_the_last_file_stays_however_large_it_is(tmp_path, log) -> None:
    written = Written(tmp_path, log, size_bytes_max=1)
    written.take(0, 12)
    written.finish()
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("what", ["newest file", "folder of a day", "folder of a topic"])
def test_what_the_user_removed_does_not_come_again(tmp_path, log, what) -> None:
    written = Written(tmp_path, log, roll_rows=1)
    written.take(0, 11)
    assert stored(tmp_path) == ALL
    topic = tmp_path / "parquet/orders"
    if what == "newest file":
        max(topic.glob("day=2023-11-14/*")).unlink()
        left = {**ALL, "orders/day=2023-11-14": [0]}
    else:
        shutil.rmtree(topic / "day=2023-11-14" if what == "folder of a day" else topic)
        left = {
            key: rows
            for key, rows in ALL.items()
            if key != "orders/day=2023-11-14" and not (what == "folder of a topic" and "orders" in key)
        }
    assert written.take(0, 11) == log.ends[11]
    assert stored(tmp_path) == left
    # Whatever the broker hands over again.
    assert Written(tmp_path, log, roll_rows=1).take(0, 12) == log.ends[12]
    assert stored(tmp_path) == left


def test_files_that_the_user_removed_do_not_count(tmp_path, log) -> None:
    written = Written(tmp_path, log, roll_rows=1, size_bytes_max=1 << 40)
    written.take(0, 6)
    one = total(tmp_path) // 4
    bounded = Written(tmp_path, log, roll_rows=1, size_bytes_max=5 * one)
    shutil.rmtree(tmp_path / "parquet/refunds")
    bounded.take(6, 12)
    assert {key: rows for key, rows in stored(tmp_path).items() if "orders" in key} == {
        key: rows for key, rows in ALL.items() if "orders" in key
    }


def test_days_that_retention_removed_do_not_come_again_without_it(tmp_path, log) -> None:
    Written(tmp_path, log, roll_rows=1).take(0, 6)
    Written(tmp_path, log, now_ms=lambda: NOW_MS + 2 * DAY, retention_days=1, roll_rows=1).take(6, 7)
    Written(tmp_path, log, roll_rows=1).take(0, 12)
    assert stored(tmp_path) == {key: rows for key, rows in ALL.items() if "11-15" in key}


def test_a_file_that_got_its_name_before_the_disk_failed_is_not_written_twice(
    tmp_path, log, monkeypatch
) -> None:
    written = Written(tmp_path, log, Time(), roll_rows=100)
    written.take(0, 2)
    publish = ParquetFolder.publish

    def fails_late(folder, *arguments):
        publish(folder, *arguments)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", fails_late)
        with pytest.raises(OSError, match="Input/output"):
            written.finish()
    # More of the same slots comes before it is tried again.
    written.take(2, 12)
    written.finish()
    assert stored(tmp_path) == ALL


def test_what_is_kept_leaves_out_what_the_log_has_lost(tmp_path) -> None:
    ends = SlotEnds(tmp_path / ".progress")
    assert ends.load() == {}
    ends.save({Slot("a", "2023-11-14"): 5, Slot("a", "2023-11-15"): 6, Slot("b", "2023-11-14"): 7}, 5)
    assert ends.load() == {Slot("a", "2023-11-15"): 6, Slot("b", "2023-11-14"): 7}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": {"day": "x"}}'])
def test_a_broken_progress_file_is_named(tmp_path, log: Log, content) -> None:
    Written(tmp_path, log, roll_rows=1).take(0, 3)
    [path] = tmp_path.glob("parquet/.broker-a-*.progress")
    path.write_bytes(content)
    with pytest.raises(GiveUpError, match=r"\.progress does not tell"):
        Written(tmp_path, log)
    path.unlink()
    assert Written(tmp_path, log, roll_rows=1).take(0, 12) == log.ends[12]
    assert stored(tmp_path) == ALL
