"""What comes of a master's log is stored and listed natively as by Python: any records, pieces, damage."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from drawn_logs import (
    FILE_BYTES,
    PLAIN,
    QUEUE_BYTES,
    Counting,
    Made,
    Recipe,
    cooked,
    in_turns,
    log_of,
    numbered,
    recipes,
    tree,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_replication.store import log_copy
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.manual_clock import ManualClock
from small_store import settings as store_settings

from mqframe.core.errors import MqframeError
from mqframe.core.storage.log_reading import LogReading
from mqframe.core.storage.outcome import Outcome
from mqframe.store.message_store import MessageStore

INDEX = IndexSettings(slots=7, entries=12)


class Confirmed:
    """Copies that confirm up to `limit`: a `Replicas`."""

    timeout_seconds = 1.0

    def __init__(self) -> None:
        self.limit = 0

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        return end

    def confirmed(self, end: int) -> int:
        return min(self.limit, end)

    def trouble(self, end: int) -> Outcome | None:
        return None

    def refusal(self) -> None:
        return None


@pytest.fixture(autouse=True, scope="module")
def _windows() -> Iterator[None]:
    with in_turns(log_copy):
        yield


def copied(root: Path, log: bytes, pieces: list[tuple[int, int]], reading: type[LogReading]) -> list[Any]:
    """What a slave tells that gets `log` in `pieces`: of so many bytes, with so much of it confirmed then."""
    made = store_settings(root, commit_log_file_bytes=FILE_BYTES, queue_file_bytes=QUEUE_BYTES)
    copies = Confirmed()
    arrived: list[tuple[str, int, int, list[int]]] = []

    def arrive(topic: str, queue_id: int, end: int, codes: list[int]) -> None:
        arrived.append((topic, queue_id, end, codes))

    store = MessageStore.open(
        made, ManualClock(), is_copy=True, copy=ReplicaLog.of, replicas=copies, on_arrival=arrive,
        open_index=FileIndexing(INDEX).open, log_reading=reading,
    )  # fmt: skip
    told: list[Any] = []
    at = 0
    for size, confirmed in [*pieces, (len(log), 0)]:
        part, middle = log[at : at + size], min(size, len(log) - at) // 2
        try:
            store.replica.append_copy(at, part[:middle], part[middle:])
        except MqframeError as problem:
            told.append(str(problem))
            break
        at += len(part)
        copies.limit = max(copies.limit, at - confirmed)
        store.dispatch.now()
        told.append((store.log.max_offset, store.dispatch.listed_offset))
    copies.limit = store.log.max_offset
    store.dispatch.now()
    ends = [(queue.key, queue.end, queue.next_offset) for queue in store.files.queues]
    told += [sorted(ends), store.dispatch.listed_offset, store.appender.store_time, arrived]
    index = store.files.key_index
    told.append(None if index is None else index.rows())  # type: ignore[attr-defined]
    store.abandon()
    return told


def both(root: Path, log: bytes, pieces: list[tuple[int, int]]) -> list[Any]:
    """What either way tells, which is the same, and so are the files."""
    by_python, files = copied(root / "python", log, pieces, LogReading), tree(root / "python")
    assert copied(root / "native", log, pieces, Counting) == by_python
    found = tree(root / "native")
    assert [name for name in {*files, *found} if files.get(name) != found.get(name)] == []
    return by_python


def used(files: list[bytes]) -> bytes:
    """All of a log but the end of its last file that was not written."""
    return b"".join(files).rstrip(b"\0")


pieces = st.lists(st.tuples(st.integers(0, 6000), st.sampled_from([0, 0, 50, 300, 900, 5000])), max_size=12)


@settings(max_examples=150)
@given(recipes, pieces)
@example(([PLAIN] * 60, [], None), [(1000, 0), (3000, 300), (2000, 500)])
def test_a_copy_is_as_by_python(
    tmp_path_factory: pytest.TempPathFactory, recipe: Recipe, pieces: list[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("copied")
    both(root, used(cooked(recipe)), pieces)
    shutil.rmtree(root)


def test_most_of_an_ordinary_log_is_read_natively(tmp_path: Path) -> None:
    Counting.said = 0
    log = used(log_of(numbered([PLAIN] * 60)))
    told = both(tmp_path, log, [(3000, 0)])
    assert told[0][0] > 2500
    assert told[0] == (told[0][0], told[0][0])
    assert Counting.said >= 60


def test_what_is_confirmed_in_the_middle_of_a_run_is_listed(tmp_path: Path) -> None:
    log = used(log_of(numbered([PLAIN] * 5)))
    record = len(log) // 5
    told = both(tmp_path, log, [(len(log), record + 1)])
    assert told[0] == (len(log), 3 * record)


@pytest.mark.parametrize("step", [1, -1, -2])
def test_a_queue_that_does_not_go_on_is_left_to_python(tmp_path: Path, step: int) -> None:
    odd: Made = (PLAIN[0], PLAIN[1], step, *PLAIN[3:])  # type: ignore[assignment]
    told = both(tmp_path, used(log_of(numbered([PLAIN, PLAIN, odd, PLAIN]))), [])
    assert told[1] == [(("t", 0), 4 + step, 4 + step)]
