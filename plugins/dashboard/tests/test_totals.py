"""What all topics hold, of all brokers together."""

from __future__ import annotations

from typing import Any

from mqframe_admin.bodies import TopicOffset, TopicTotal
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.totals import ASKED_MAX, all_totals

from mqframe.core.errors import ConnectError
from mqframe.core.messages.message import MessageQueue

MASTERS = {"a": "a:1", "b": "b:1"}


class TotalsAdmin:
    """Answers `totals` by address; what is an error is raised."""

    def __init__(self, told: dict[str, Any], topics: tuple[str, ...] = ()) -> None:
        self._told = told
        self._topics = topics
        self.asked: list[str] = []
        self.topics = self

    async def totals(self, address: str) -> Any:
        self.asked.append(address)
        if isinstance(self._told[address], Exception):
            raise self._told[address]
        return self._told[address]

    async def list(self) -> Any:
        return sorted(self._topics)

    async def stats(self, topic: str) -> Any:
        self.asked.append(topic)
        if topic == "broken":
            raise ConnectError("broken")
        return {MessageQueue(topic, "a", number): TopicOffset(0, 7, 2) for number in (0, 1)}


def asking(admin: Any) -> Asking:
    return Asking(admin, admin)


async def test_each_broker_is_asked_once_and_their_answers_are_added_up():
    told = {
        "a:1": {"orders": TopicTotal(2, 10, 4), "own": TopicTotal(1, 1, 1)},
        "b:1": {"orders": TopicTotal(3, 5, 5)},
    }
    admin = TotalsAdmin(told)
    found = await all_totals(asking(admin), MASTERS)
    assert found.topics == {"orders": TopicTotal(5, 15, 9), "own": TopicTotal(1, 1, 1)}
    assert (found.silent, found.one_by_one) == ({}, False)
    assert sorted(admin.asked) == ["a:1", "b:1"]


async def test_a_broker_that_is_silent_is_named():
    away = ConnectError("away")
    found = await all_totals(asking(TotalsAdmin({"a:1": {"t": TopicTotal(1, 2, 2)}, "b:1": away})), MASTERS)
    assert found.topics == {"t": TopicTotal(1, 2, 2)}
    assert found.silent == {"b": away}


async def test_where_a_broker_does_not_tell_of_all_the_first_topics_are_asked():
    names = ("broken", *(f"t{number:04}" for number in range(ASKED_MAX + 10)))
    admin = TotalsAdmin({"a:1": None, "b:1": {"t0000": TopicTotal(1, 1, 1)}}, names)
    found = await all_totals(asking(admin), MASTERS)
    assert found.one_by_one
    assert (len(found.topics), found.failed) == (ASKED_MAX - 1, {"broken"})
    assert found.topics["t0000"] == TopicTotal(2, 14, 10)
    assert len(admin.asked) == ASKED_MAX + 2
