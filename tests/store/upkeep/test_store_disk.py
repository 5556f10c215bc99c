"""What is told of the disk of a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stores import put

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore


def test_a_disk_that_is_full_and_has_room_again(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    free = [50]
    options: dict[str, Any] = {"usage": lambda directory: (100, free[0])}
    store = opened(options=options, disk_limits=True, disk_enough_free_bytes=0)
    store.disk.look()
    assert (store.disk.refusal, store.disk.has_room) == ("", True)
    free[0] = 5
    assert store.disk.refusal == "", "it was not looked at"
    store.disk.look()
    assert "is 95 % full" in store.disk.refusal
    free[0] = 50
    store.disk.look()
    assert store.disk.refusal == ""
    put(store, message())


def test_a_file_that_could_not_be_synced_is_told_and_refuses_nothing(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    store = opened()
    assert store.disk.trouble == ""
    store.disk.distrust("timer", OSError(5, "Input/output error"))
    assert store.disk.trouble == "queues or index could not be flushed; restart the broker"
    assert store.disk.refusal == ""
    put(store, message())
    store.refusals.durability.lost("commitlog/0", OSError(5, "Input/output error"))
    assert store.disk.refusal == store.disk.trouble == str(store.refusals.now())
    assert store.disk.waiting_seconds == 0
