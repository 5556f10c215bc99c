"""Starts of a store that knows up to where its log is confirmed, and that this is not all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from indexed import small_index
from mqframe_testing.manual_clock import ManualClock
from stores import bodies

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record import decode_record
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

Opened = Callable[..., MessageStore]
Message = Callable[..., Incoming]
SMALL = {"commit_log_file_bytes": 4096, "queue_file_bytes": 20 * 7}


class Told:
    """What was said to be confirmed."""

    timeout_seconds = 3.0

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.moved: Callable[[], object] = lambda: None

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        self.moved = moved
        return min(self.offset, end)

    def confirmed(self, end: int) -> int:
        return min(self.offset, end)

    def trouble(self, end: int) -> Outcome | None:
        return None

    def refusal(self) -> StoreUnavailable | None:
        return None


def filled(store: MessageStore, message: Message, count: int = 40) -> list[tuple[int, bytes, int]]:
    """Queue, body and end of each message that is stored."""
    done = []
    for number in range(count):
        body = b"%03d" % number * (1 + number * 7 % 50)
        stored = store.writes.put(message("t", number % 3, body, KEYS=f"k{number}"))
        done.append((number % 3, body, stored.end_offset))
    store.dispatch.now()
    return done


def readable(store: MessageStore, queue: int) -> list[bytes]:
    """All bodies that readers of a queue get."""
    found: list[bytes] = []
    while len(found) < store.queues.max_offset("t", queue):
        more = bodies(store.reads.get("t", queue, len(found), 1000, bytes_max=1 << 30))
        assert more
        found += more
    return found


def expect(store: MessageStore, done: list[tuple[int, bytes, int]], confirmed: int) -> None:
    """Readers see exactly what ends at or before `confirmed`."""
    for queue in range(3):
        seen = [body for at, body, end in done if at == queue and end <= confirmed]
        assert store.queues.max_offset("t", queue) == len(seen)
        assert readable(store, queue) == seen
        assert store.queues.next_offset("t", queue) == sum(at == queue for at, _, _ in done)
    for number, (_, body, end) in enumerate(done):
        found = store.search.query("t", f"k{number}", 10, 0, 1 << 60).records
        assert len(found) == (end <= confirmed), f"{number} {body[:3]!r}"


@pytest.mark.parametrize("orderly", [True, False])
@pytest.mark.parametrize("held", [0, 1, 2, 17, 39, 40])
async def test_what_is_not_confirmed_is_shown_when_it_is(
    opened: Opened, message: Message, orderly: bool, held: int
) -> None:
    store = opened(**SMALL)
    store.start()
    done = filled(store, message)
    await (store.stop() if orderly else asyncio.to_thread(store.abandon))
    ends = [0, *(end for _, _, end in done)]
    told = Told(ends[len(done) - held])
    store = opened(options={"replicas": told}, **SMALL)
    expect(store, done, told.offset)
    more = store.writes.put(message("t", 1, b"new", KEYS="new"))
    assert more.queue_offset == 13
    done.append((1, b"new", more.end_offset))
    store.dispatch.now()
    assert store.queues.max_offset("t", 1) == sum(at == 1 and end <= told.offset for at, _, end in done)
    for end in (ends[-1] - 1, ends[-1], more.end_offset):
        told.offset = max(told.offset, end)
        told.moved()
        await asyncio.sleep(0)
        for queue in range(3):
            seen = [body for at, body, at_end in done if at == queue and at_end <= told.offset]
            assert readable(store, queue) == seen
    assert bodies_of_key(store, "new") == [b"new"]
    store.abandon()
    expect_all(opened(**SMALL), done)


def bodies_of_key(store: MessageStore, key: str) -> list[bytes]:
    return [decode_record(record).body for record in store.search.query("t", key, 10, 0, 1 << 60).records]


def expect_all(store: MessageStore, done: list[tuple[int, bytes, int]]) -> None:
    for queue in range(3):
        seen = [body for at, body, _ in done if at == queue]
        assert readable(store, queue) == seen


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans()), min_size=1, max_size=4))
async def test_any_number_of_starts_loses_and_doubles_nothing(
    small: Callable[..., StoreSettings],
    message: Message,
    tmp_path_factory: pytest.TempPathFactory,
    lives: list[tuple[int, bool]],
) -> None:
    directory: Path = tmp_path_factory.mktemp("lives")
    done: list[tuple[int, bytes, int]] = []

    async def live(confirmed: int, orderly: bool) -> None:
        options: dict[str, Any] = {"replicas": Told(confirmed), "open_index": small_index(20, 40)}
        store = MessageStore.open(small(directory / "store", **SMALL), ManualClock(), **options)
        store.start()
        for queue in range(3):
            listed = [body for at, body, end in done if at == queue and end <= confirmed]
            assert readable(store, queue) == listed
        for _ in range(5):
            number = len(done)
            stored = store.writes.put(message("t", number % 3, b"%03d" % number * 20))
            assert stored.queue_offset == number // 3
            done.append((number % 3, b"%03d" % number * 20, stored.end_offset))
        store.dispatch.now()
        await (store.stop() if orderly else asyncio.to_thread(store.abandon))

    for confirmed, orderly in lives:
        await live(confirmed, orderly)
    store = MessageStore.open(
        small(directory / "store", **SMALL), ManualClock(), open_index=small_index(20, 40)
    )
    expect_all(store, done)
    store.abandon()
