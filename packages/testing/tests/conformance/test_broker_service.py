"""The suite of broker services: a good one passes, faulty ones are caught."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_testing.conformance import BrokerServiceConformance

from mqframe.core.errors import Refusal
from mqframe.core.wire.bodies import Body
from mqframe.hooks.interfaces import BrokerService, SavedTable, SendRule


class Numbers(Body):
    """What is saved."""

    numbers: list[int] = []


class NumberTable:
    """Keeps numbers; `forgetful`: loads nothing."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.changes = 0
        self.numbers: list[int] = []
        self._forgetful = forgetful

    def dump(self) -> Numbers:
        return Numbers(list(self.numbers))

    def load(self, table: Numbers) -> None:
        if not self._forgetful:
            self.numbers = list(table.numbers)


class Ends(BrokerService):
    """Notes the ends of a queue."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.table = NumberTable(forgetful=forgetful)

    def arrivals(self) -> dict[str, Any]:
        return {"orders": self._arrived}

    def tables(self) -> list[SavedTable]:
        return [SavedTable("ends.json", Numbers, self.table)]

    def counters(self) -> dict[str, str]:
        return {"ends": str(len(self.table.numbers))}

    def _arrived(self, topic: str, queue_id: int, end: int, codes: Any) -> None:
        self.table.numbers.append(end)
        self.table.changes += 1


class TestBrokerService(BrokerServiceConformance):
    def make(self, port: Any) -> BrokerService:
        return Ends()

    def test_it_is_told_and_keeps_what_it_was_told_over_a_restart(self) -> None:
        async def story(running: Any) -> None:
            await running.send("orders")
            await running.clock.aadvance(1)
            await running.cluster.restart_broker()
            assert running.service.table.numbers == [1]

        self.play(story)


def test_faulty_broker_services_are_caught() -> None:
    class Forgetful(BrokerServiceConformance):
        def make(self, port: Any) -> BrokerService:
            return Ends(forgetful=True)

    class Greedy(SendRule):
        names = None

        def before(self, record: Any) -> None:
            raise Refusal(16, "mine alone")

    class Refusing(BrokerServiceConformance):
        def make(self, port: Any) -> BrokerService:
            service = BrokerService()
            service.send_rules = lambda: (Greedy(),)  # type: ignore[method-assign]
            return service

    with pytest.raises(AssertionError):
        Forgetful().test_tables_can_be_saved_and_loaded()
    with pytest.raises(AssertionError):
        Refusing().test_ordinary_messages_are_stored_as_ever()
