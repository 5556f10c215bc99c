"""How far following dispatchers are behind."""

from __future__ import annotations

import pytest

from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.store import following_lag
from mqframe.store.following_lag import Lag


class Held(Dispatcher):
    """Says that it has made durable what it is told to; nothing is handed over before the store starts."""

    name = "held"

    def dispatch(self, stretch):
        return stretch.end


def fill(store, message, clock, count, **fields):
    ends = []
    for _ in range(count):
        clock.advance(1)
        stored = store.put(message(**fields))
        ends.append(store.max_offset)
        assert stored
    store.dispatch()
    return ends


@pytest.mark.parametrize("queues", [1, 3])
def test_bytes_messages_and_time_from_the_cursor_on(opened, message, clock, queues):
    store = opened(commit_log_file_bytes=4096)
    store.follow(Held())
    assert store.lags() == [Lag("held", 0, 0, 0, None)]
    begin = clock.now_ms()
    ends = [0]
    for number in range(60):
        ends += fill(store, message, clock, 1, queue_id=number % queues, body=b"x" * 60)
    follower = store._followers["held"]
    for taken in (0, 1, 7, 31, 59):
        follower.cursor = ends[taken]
        [lag] = store.lags()
        assert (lag.size_bytes, lag.messages) == (ends[-1] - ends[taken], 60 - taken)
        assert lag.stored_ms == begin + 1000 * (taken + 1)
        assert lag.age_ms(clock.now_ms()) == 1000 * (59 - taken)
    follower.cursor = ends[-1]
    [lag] = store.lags()
    assert (lag.size_bytes, lag.messages, lag.age_ms(clock.now_ms())) == (0, 0, 0)


def test_with_very_many_queues_messages_are_not_counted(opened, message, clock, monkeypatch):
    monkeypatch.setattr(following_lag, "QUEUES_MAX", 3)
    store = opened()
    store.follow(Held())
    for queue in range(4):
        fill(store, message, clock, 2, queue_id=queue)
    [lag] = store.lags()
    assert lag.messages is None
    assert lag.size_bytes == store.max_offset
    # Queues whose messages are all done are not searched.
    store._followers["held"].cursor = store.max_offset // 2
    assert store.lags()[0].messages == 4
    assert store.lags(count=False)[0].messages is None
