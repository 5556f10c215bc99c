"""When the writer publishes, and what it holds until then."""

import pyarrow.parquet as pq
from lake_log import ALL, Log, Time, Written, stored


def test_only_chosen_topics_are_written(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, topics=("%RETRY%g",))
    dispatcher.take(0, 12)
    dispatcher.finish()
    assert stored(tmp_path) == {"%RETRY%g/day=2023-11-14": [3], "%RETRY%g/day=2023-11-15": [7, 11]}


def test_files_are_rolled_by_rows(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=2)
    assert dispatcher.take(0, 6) == log.ends[6]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


def test_files_are_rolled_by_bytes(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, roll_bytes=1)
    assert dispatcher.take(0, 12) == log.ends[12]
    assert len(list(tmp_path.glob("parquet/orders/*/*.parquet"))) == 3
    assert stored(tmp_path) == ALL


def test_files_are_rolled_by_time_and_the_cursor_waits_for_them(tmp_path, log) -> None:
    clock = Time()
    dispatcher = Written(tmp_path, log, clock)
    assert dispatcher.roll() == 0
    assert dispatcher.take(0, 1) == 0
    clock.now = 30
    assert dispatcher.take(1, 3) == 0
    clock.now = 60
    assert dispatcher.roll() == log.ends[1]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0]}
    clock.now = 90
    assert dispatcher.roll() == log.ends[3] == dispatcher.roll()


def test_memory_is_bounded(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, buffered_bytes_max=1)
    dispatcher.take(0, 6)
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


def test_a_damaged_body_does_not_hold_up_the_others(tmp_path, store) -> None:
    log = Log(store)
    log.add("orders", body=b"no zlib", sys_flag=0x301)
    log.add("orders", body=b"good")
    dispatcher = Written(tmp_path, log)
    dispatcher.take(0, 2)
    dispatcher.finish()
    (path,) = tmp_path.glob("parquet/*/*/*.parquet")
    assert pq.ParquetFile(path).read().column("body").to_pylist() == [None, b"good"]
