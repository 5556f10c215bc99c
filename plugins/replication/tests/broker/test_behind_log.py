"""What was copied and counts when the log is here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_replication.broker.behind_log import BehindLog

from mqframe.core.errors import AnswerError
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps


class Master:
    """Answers how long its log is."""

    def __init__(self) -> None:
        self.end = 100
        self.code = 0

    async def invoke(self, address: str, request: Any, *, timeout: float) -> Frame:
        table = KVTable({"commitLogMinOffset": "0", "commitLogMaxOffset": str(self.end)})
        return Frame(self.code, body=dumps(table))


class Store:
    def __init__(self) -> None:
        self.log = SimpleNamespace(max_offset=40)


def staged() -> tuple[Master, Store, BehindLog, list[str]]:
    master, store = Master(), Store()
    return master, store, BehindLog(store, master), []


async def test_it_counts_when_the_log_is_as_long_as_the_masters_was_then() -> None:
    master, store, behind, taken = staged()
    await behind.offer("timer", "m", lambda: taken.append("first"))
    master.end = 200
    store.log.max_offset = 99
    behind.settle()
    assert taken == []
    store.log.max_offset = 100
    behind.settle()
    behind.settle()
    assert taken == ["first"]


async def test_what_has_its_messages_already_counts_at_once() -> None:
    _master, store, behind, taken = staged()
    store.log.max_offset = 100
    await behind.offer("timer", "m", lambda: taken.append("first"))
    assert taken == ["first"]


async def test_a_slave_that_stays_behind_takes_the_earlier_one_and_then_a_later_one() -> None:
    master, store, behind, taken = staged()
    for number in range(1, 6):
        master.end = 100 * number
        store.log.max_offset = 100 * number - 60
        await behind.offer("timer", "m", lambda number=number: taken.append(str(number)))  # type: ignore[misc]
        await behind.offer("delays", "m", lambda: None)
    assert taken == ["1", "3"]


async def test_a_master_that_does_not_say_how_long_its_log_is_leaves_all_as_it_was() -> None:
    master, store, behind, taken = staged()
    master.code = 1
    with pytest.raises(AnswerError):
        await behind.offer("timer", "m", lambda: taken.append("first"))
    master.code, store.log.max_offset = 0, 100
    behind.settle()
    assert taken == []
    await behind.offer("timer", "m", lambda: taken.append("second"))
    assert taken == ["second"]
