"""How far following dispatchers are behind."""

from __future__ import annotations

import pytest

from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.store.following.followers import Cursors
from mqframe.store.following.lag import Lag


class Held(Dispatcher):
    """Nothing is handed over to it, for the store is not started."""

    def __init__(self, name):
        self.name = name

    def dispatch(self, stretch):
        return stretch.end


def follow_from(store, opened, tmp_path, cursors, **settings):
    """The store, opened again, with a dispatcher for each of these cursors, log bytes by name."""
    store.abandon()
    kept = Cursors(tmp_path / "store/config/dispatchers.json")
    for name, cursor in cursors.items():
        kept.set(name, cursor)
    store = opened(**settings)
    for name in cursors:
        store.followers.add(Held(name))
    return store


def fill(store, message, clock, count, **fields):
    ends = []
    for _ in range(count):
        clock.advance(1)
        stored = store.writes.put(message(**fields))
        ends.append(store.log.max_offset)
        assert stored
    store.dispatch.now()
    return ends


@pytest.mark.parametrize("queues", [1, 3])
def test_bytes_messages_and_time_from_the_cursor_on(opened, message, clock, tmp_path, queues):
    store = opened(commit_log_file_bytes=4096)
    store.followers.add(Held("new"))
    assert store.lags() == [Lag("new", 0, 0, 0, None)]
    begin = clock.now_ms()
    ends = [0]
    for number in range(60):
        ends += fill(store, message, clock, 1, queue_id=number % queues, body=b"x" * 60)
    cursors = {f"{taken}": ends[taken] for taken in (0, 1, 7, 31, 59, 60)}
    store = follow_from(store, opened, tmp_path, cursors, commit_log_file_bytes=4096)
    *behind, done = store.lags()
    for lag in behind:
        taken = int(lag.name)
        assert (lag.cursor, lag.size_bytes) == (ends[taken], ends[-1] - ends[taken])
        assert (lag.messages, lag.stored_ms) == (60 - taken, begin + 1000 * (taken + 1))
        assert lag.age_ms(clock.now_ms()) == 1000 * (59 - taken)
    assert (done.size_bytes, done.messages, done.age_ms(clock.now_ms())) == (0, 0, 0)


def test_with_very_many_queues_messages_are_not_counted(opened, message, clock, tmp_path, monkeypatch):
    monkeypatch.setattr("mqframe.store.following.lag.QUEUES_MAX", 3)
    store = opened()
    for queue in range(4):
        fill(store, message, clock, 2, queue_id=queue)
    end = store.log.max_offset
    store = follow_from(store, opened, tmp_path, {"new": 0, "half": end // 2})
    new, half = store.lags()
    assert (new.messages, new.size_bytes) == (None, end)
    # Queues whose messages are all done are not searched.
    assert half.messages == 4
    assert [lag.messages for lag in store.lags(count=False)] == [None, None]
