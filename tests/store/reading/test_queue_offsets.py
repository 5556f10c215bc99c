"""Where queues begin and end, and what was stored when."""

from __future__ import annotations

from collections.abc import Callable

from mqframe_testing.manual_clock import ManualClock
from stores import put

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

Opened = Callable[..., MessageStore]
Message = Callable[..., Incoming]


def test_an_unknown_queue_is_empty(opened: Opened) -> None:
    queues = opened().queues
    assert list(queues) == []
    assert (queues.bounds("t", 0), queues.next_offset("t", 0)) == ((0, 0), 0)
    assert queues.store_time_at("t", 0, 0) is None
    assert queues.offset_at("t", 0, 5) == 0


def test_queues_end_behind_what_may_be_seen_and_go_on_behind_what_is_stored(
    opened: Opened, message: Message
) -> None:
    store = opened()
    put(store, message("t", 1), message("t", 1), message("u", 0))
    store.writes.put(message("t", 1))
    assert sorted(store.queues) == [("t", 1), ("u", 0)]
    assert (store.queues.min_offset("t", 1), store.queues.max_offset("t", 1)) == (0, 2)
    assert store.queues.bounds("t", 1) == (0, 2)
    assert store.queues.next_offset("t", 1) == 3


def test_the_offset_of_a_time_is_the_first_at_or_behind_it(
    opened: Opened, message: Message, clock: ManualClock
) -> None:
    store = opened()
    times = []
    for _ in range(5):
        put(store, message())
        times.append(clock.now_ms())
        clock.advance(1)
    assert [store.queues.store_time_at("t", 0, offset) for offset in range(6)] == [*times, None]
    assert [store.queues.offset_at("t", 0, time) for time in times] == [0, 1, 2, 3, 4]
    assert [store.queues.offset_at("t", 0, times[2] + ms) for ms in (-1, 1)] == [2, 3]
    assert [store.queues.offset_at("t", 0, times[2] + ms, upper=True) for ms in (-1, 0, 1)] == [1, 2, 2]
    assert store.queues.offset_at("t", 0, times[-1] + 1) == 5
    assert store.queues.offset_at("t", 0, times[0] - 1, upper=True) == 0
