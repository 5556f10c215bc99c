from __future__ import annotations

from typing import Any

import pytest
from mqframe_grpc.outside.masters import DOUBT_SECONDS, Masters
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.route_bodies import BrokerData, ClusterInfo, TopicRouteData
from mqframe.core.errors import AnswerError, MqframeError, RouteError
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps


class Instance:
    """A client whose name servers say `answer`. `asked`: how often; `spawned`: what is to be done beside."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.answer: dict[str, dict[int, str]] | MqframeError = {}
        self.asked = 0
        self.spawned: list[Any] = []

    async def call_nameserver(self, request: object) -> Frame:
        self.asked += 1
        if isinstance(self.answer, MqframeError):
            raise self.answer
        table = {name: BrokerData(name, members, "c") for name, members in self.answer.items()}
        return Frame(0, body=dumps(ClusterInfo(table)))

    def spawn(self, work: Any) -> None:
        self.spawned.append(work)


@pytest.fixture
def instance() -> Instance:
    return Instance()


@pytest.fixture
def masters(instance: Instance) -> Masters:
    return Masters(instance)  # type: ignore[arg-type]


async def test_masters_are_known_and_slaves_are_not(instance: Instance, masters: Masters) -> None:
    assert (masters.is_known, masters.names) == (False, ())
    instance.answer = {"b": {0: "h:2", 1: "h:3"}, "a": {0: "h:1"}, "c": {2: "h:4"}}
    await masters.look()
    assert (masters.is_known, masters.names, masters.addresses) == (True, ("a", "b"), ("h:1", "h:2"))
    assert (masters.address("b"), masters.address("c"), masters.name_at("h:2")) == ("h:2", None, "b")
    assert masters.name_at("h:3") == ""


async def test_one_that_is_away_keeps_its_last_address(instance: Instance, masters: Masters) -> None:
    instance.answer = {"a": {0: "h:1"}, "b": {0: "h:2"}}
    await masters.look()
    instance.answer = {"a": {0: "h:5"}}
    await masters.look()
    assert (masters.names, masters.address("a"), masters.address("b")) == (("a",), "h:5", "h:2")


async def test_routes_tell_of_masters_where_name_servers_do_not(
    instance: Instance, masters: Masters, caplog: pytest.LogCaptureFixture
) -> None:
    instance.answer = AnswerError(16, "no permission", "h:9")
    for _ in range(2):
        await masters.look()
    masters.learn(TopicRouteData([BrokerData("a", {0: "h:1"}), BrokerData("b", {1: "h:2"})]))
    await masters.look()
    assert (masters.is_known, masters.names) == (True, ("a",))
    said = [each for each in caplog.records if "does not tell which brokers" in each.getMessage()]
    assert len(said) == 1


async def test_name_servers_that_are_away_change_nothing(instance: Instance, masters: Masters) -> None:
    instance.answer = {"a": {0: "h:1"}}
    await masters.look()
    instance.answer = RouteError("no name server answered")
    await masters.look()
    assert (masters.is_known, masters.names) == (False, ("a",))


async def test_doubts_are_looked_into_once_a_second(instance: Instance, masters: Masters) -> None:
    await masters.look()
    masters.doubt()
    assert instance.spawned == []
    instance.clock.advance(DOUBT_SECONDS)
    for _ in range(3):
        masters.doubt()
    [look] = instance.spawned
    instance.answer = {"a": {0: "h:1"}}
    await look
    assert (masters.names, instance.asked) == (("a",), 2)
