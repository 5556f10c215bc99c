"""Logs that are read natively, against what Python reads in them: any records, damage and ends."""

from __future__ import annotations

import asyncio
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import mqframe_speedups.log_reading as native
import pytest
import small_store
from drawn_logs import (
    BEGIN,
    DELAYS,
    FILE_BYTES,
    PLAIN,
    QUEUE_BYTES,
    Counting,
    Made,
    Recipe,
    cooked,
    damaged,
    in_turns,
    log_of,
    numbered,
    recipes,
    stored,
    tree,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_speedups._native import describe_log
from mqframe_store_tools.checking.store_check import StoreCheck
from mqframe_testing.manual_clock import ManualClock
from small_store import settings as store_settings

from mqframe.core.codes import SysFlag
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.log_scan import read_record
from mqframe.core.storage.recovery import Care
from mqframe.hooks.interfaces.key_index import KeyIndexPlace
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout
from mqframe.store.log.log_view import LogView, neighbours
from mqframe.store.message_store import MessageStore
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep import log_check
from mqframe.store.upkeep.last_commits import LastCommits
from mqframe.store.upkeep.log_check import KnownEnds, LogCheck
from mqframe.store.upkeep.redispatch import Redispatch

INDEX = IndexSettings(slots=7, entries=12)
INDEX_BYTES = 40 + 4 * INDEX.slots + 20 * INDEX.entries
DELETED = ("gone", 1500)


@pytest.fixture(autouse=True, scope="module")
def _windows() -> Iterator[None]:
    with in_turns(log_check):
        yield


def entered(root: Path, reader: type[LogReading], end: int, *, crc: bool) -> list[Any]:
    """All that entering the log up to about `end` notes; queues and index go on from what they have."""
    layout = Layout(root)
    file_bytes, groups = neighbours(layout.commit_log)
    view = LogView(layout.commit_log, [each for each in groups[0] if each[0] < end], file_bytes)
    layout.deleted_topics.parent.mkdir(exist_ok=True)
    deleted = DeletedTopics(layout.deleted_topics)
    deleted.add(*DELETED[:1], 0, DELETED[1])
    layout.queues.mkdir(exist_ok=True)
    queues = QueueTable(layout.queues, QUEUE_BYTES, 16, deleted, DELAYS)
    queues.load(after_crash=True)
    index = FileIndexing(INDEX).open(KeyIndexPlace(root, lambda descriptor, size: None, lambda: BEGIN))
    assert index is not None
    known = KnownEnds(None, None)
    check = LogCheck(view, Checkpoint(root / "none"), check_crc=crc, known=known, accept_loss=True)
    redispatch = Redispatch(queues, index, DELAYS, reader)
    commits, reached, last = LastCommits(), 0, None
    for records, said in check.walk(0, redispatch.ahead):
        assert reached < check.end == records[-1].end
        reached = check.end
        redispatch.take(records, said)
        commits.take(records)
        last = records[-1]
    redispatch.finish(0, whole=True)
    run = commits.offsets(view, queues, 0)  # type: ignore[arg-type]  # of a log that begins there
    notes = vars(redispatch.notes)
    ends = [(queue.key, queue.end, queue.covered) for queue in queues]
    found = [check.newest, check.records, check.end, check.stretches, last, run, redispatch.gaps, notes, ends]
    found += [index.rows(), index.repeat_from]
    index.close()
    queues.close()
    view.close()
    return found


def opened(root: Path, reader: type[LogReading], bits: Sequence[int] = ()) -> Any:
    """What a start makes of the store, and what a check says of it once these bits of the index are wrong."""
    made = store_settings(root, commit_log_file_bytes=FILE_BYTES, queue_file_bytes=QUEUE_BYTES)
    store = MessageStore.open(
        made, ManualClock(), care=Care.ACCEPT_LOSS, open_index=FileIndexing(INDEX).open, log_reading=reader
    )
    found = store.recovered
    asyncio.run(store.stop())
    files = sorted((root / "index").iterdir())[-2:]
    for bit in bits if files else ():
        path = files[bit % len(files)]
        raw = bytearray(path.read_bytes())
        raw[bit // 8 % len(raw)] ^= 1 << bit % 8
        path.write_bytes(raw)
    check = StoreCheck(Layout(root), made, INDEX).run(reader)
    (root / "abort").touch()
    return found, check.records, check.log_end, check.notes, [each.found for each in check.findings]


def both(root: Path, work: Callable[[Path, type[LogReading]], Any]) -> None:
    """Do `work` in two folders, in each way: what it returns and the files are the same."""
    by_python, files = work(root / "python", LogReading), tree(root / "python")
    assert work(root / "native", Counting) == by_python
    found = tree(root / "native")
    assert [name for name in {*files, *found} if files.get(name) != found.get(name)] == []


@settings(max_examples=100)
@given(recipes, st.integers(0, 2 * FILE_BYTES), st.booleans())
@example(([PLAIN] * 60, [], None), 3000, True)
def test_records_are_entered_as_by_python(
    tmp_path_factory: pytest.TempPathFactory, recipe: Recipe, before: int, crc: bool
) -> None:
    root, files = tmp_path_factory.mktemp("entered"), cooked(recipe)

    def enter(folder: Path, reader: type[LogReading]) -> list[Any]:
        earlier = damaged(files, [], before)
        stored(folder, earlier)
        found = [entered(folder, reader, len(files) * FILE_BYTES, crc=crc)]
        stored(folder, files)
        return [*found, entered(folder, reader, len(files) * FILE_BYTES, crc=crc)]

    both(root, enter)
    shutil.rmtree(root)


AT_ONE_TIME: list[Made] = [(each, *PLAIN[1:5], 0, *PLAIN[6:]) for each in "tu" * 20]
"""Records of two topics in turns, all of one millisecond."""


@settings(max_examples=40)
@given(recipes, st.lists(st.integers(0, 8 * INDEX_BYTES - 1), max_size=2))
@example((AT_ONE_TIME, [], None), [8 * (INDEX_BYTES - 20 * 6 + 10) + 1])
def test_a_start_and_a_check_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, recipe: Recipe, bits: list[int]
) -> None:
    root, files = tmp_path_factory.mktemp("opened"), cooked(recipe)

    def start(folder: Path, reader: type[LogReading]) -> Any:
        stored(folder, files)
        first = opened(folder, reader, bits)
        for name in ("consumequeue", "index"):
            shutil.rmtree(folder / name, ignore_errors=True)
        return first, opened(folder, reader)

    both(root, start)
    shutil.rmtree(root)


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_a_recorded_log_is_read_as_by_python(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "AT_LEAST", 1000)
    monkeypatch.setattr(native, "AT_ONCE", 4000)
    data = Path(small_store.__file__).parent / "data/store"
    found = {}
    for way, reading in (("python", LogReading), ("native", Counting)):
        with tarfile.open(data / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path / way, filter="data")
        root = tmp_path / way / name
        made = store_settings(root, commit_log_file_bytes=1 << 20, queue_file_bytes=20_000)
        shutil.rmtree(root / "consumequeue")
        shutil.rmtree(root / "index")
        store = MessageStore.open(
            made,
            ManualClock(),
            care=Care.THOROUGH,
            open_index=FileIndexing(IndexSettings(slots=1000, entries=4000)).open,
            log_reading=reading,
        )
        found[way] = store.recovered, tree(root)
        store.abandon()
    assert found["python"] == found["native"]
    assert found["python"][0].records > 100


def test_a_log_may_end_anywhere(tmp_path: Path) -> None:
    files = log_of(numbered([PLAIN] * 5))
    size = len(files[0].rstrip(b"\0"))
    for cut in range(0, size + 2, 13):
        root = tmp_path / str(cut)
        shortened = damaged(files, [], cut)

        def enter(folder: Path, reader: type[LogReading], some: list[bytes] = shortened) -> list[Any]:
            stored(folder, some)
            return entered(folder, reader, FILE_BYTES, crc=True)

        both(root, enter)
        shutil.rmtree(root)


def test_most_of_an_ordinary_log_is_read_natively(tmp_path: Path) -> None:
    stored(tmp_path, log_of(numbered([PLAIN] * 60)))
    Counting.said = 0
    assert entered(tmp_path, Counting, 3 * FILE_BYTES, crc=True)[1] == 60
    assert Counting.said > 50


def said_of(messages: list[Made], **changes: Any) -> Any:
    [raw] = log_of(numbered(messages))
    options = {"first": 0, "crc": True, "apart": (), "keys_from": 0} | changes
    return describe_log(raw, options["first"], options["crc"], options["apart"], options["keys_from"])


@pytest.mark.parametrize(
    "change",
    [
        {0: "x" * 128}, {2: 1}, {2: -2}, {4: SysFlag.TRANSACTION_PREPARED}, {4: SysFlag.TRANSACTION_COMMIT},
        {4: SysFlag.TRANSACTION_ROLLBACK}, {6: "a\x01\0\x02"}, {6: "TAGS\x01\x02"}, {8: True},
    ],
)  # fmt: skip
def test_it_ends_before_what_is_not_ordinary(change: dict[int, Any]) -> None:
    odd: Any = tuple(change.get(number, value) for number, value in enumerate(PLAIN))
    said = said_of([PLAIN, PLAIN, odd, PLAIN])
    assert said[0] == 2
    assert said[1] == 2 * (said[1] - said[2])


def test_crcs_of_whole_records_are_checked() -> None:
    guarded: Any = (*PLAIN[:7], True, False)
    [raw] = log_of(numbered([guarded]))
    assert describe_log(raw, 0, True, (), 0) is not None
    end = len(raw.rstrip(b"\0"))
    for at in (end - 1, end - 5, end - 11, end - 13, end - 20):
        damaged_at = bytearray(raw)
        damaged_at[at] ^= 1
        record = read_record(damaged_at, 0, 0)
        assert (describe_log(bytes(damaged_at), 0, True, (), 0) is None) is (record is None), at
    # Digits alone are no CRC, unless they are the right ones.
    assert said_of([(*PLAIN[:6], "x\x01" + "9" * 10 + "\x02", False, False)])[0] == 1


def test_what_it_says() -> None:
    other = ("u", 3, 4, *PLAIN[3:])
    records, end, last, stored_ms, newest, runs, keys = said_of(
        [PLAIN, other, PLAIN, (*PLAIN[:5], -9, *PLAIN[6:])]
    )
    assert (records, stored_ms, newest) == (4, BEGIN - 6, BEGIN + 3)
    [raw] = log_of(numbered([PLAIN, other, PLAIN, (*PLAIN[:5], -9, *PLAIN[6:])]))
    found = read_record(raw, last, last)
    assert found is not None
    assert found.end == end
    assert [(*run[:2], len(run[2]), run[3]) for run in runs] == [
        (("t", 0), 0, 60, end),
        (("u", 3), 4, 20, 2 * (end - last)),
    ]
    times = [BEGIN + 1, BEGIN + 2, BEGIN + 3, BEGIN - 6]
    assert [time for time, _ in keys.by_time()] == times
    assert [pair for _, pairs in keys.by_time() for pair in pairs] == keys.pairs() == list(keys)
    assert said_of([PLAIN, other], apart=("u",))[0] == 1
    assert said_of([("u", *PLAIN[1:])], apart=("u",)) is None
    assert said_of([PLAIN], first=1) is None
    assert len(said_of([PLAIN, PLAIN], keys_from=1)[6]) == 2
    assert said_of([PLAIN, PLAIN], keys_from=2**63 - 1)[6].by_time() == []


def test_keys_of_one_second() -> None:
    keys = said_of([(*PLAIN[:5], later, *PLAIN[6:]) for later in (0, 400, 500, 200, 5000)])[6]
    assert len(keys) == 10
    assert keys.of_one_second(0, 99, -1) == (2, BEGIN)
    assert keys.of_one_second(1, 99, -1) == (1, BEGIN)
    assert keys.of_one_second(0, 99, BEGIN) == (6, BEGIN + 900)
    assert keys.of_one_second(0, 5, BEGIN) == (5, BEGIN + 900)
    assert keys.of_one_second(0, 4, BEGIN) == (4, BEGIN + 400)
    assert keys.of_one_second(6, 99, BEGIN) == (2, BEGIN + 1100)
    assert keys.of_one_second(0, 99, BEGIN + 9999) == (10, BEGIN + 6100)
    assert keys.of_one_second(10, 99, BEGIN) is None
