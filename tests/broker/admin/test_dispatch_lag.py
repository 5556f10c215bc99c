"""Operators see how far dispatchers are behind, and are warned."""

import logging
from types import SimpleNamespace

import pytest
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.admin.dispatch_lag import AGAIN_MS, DispatchLag
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.log import ROOT
from mqframe.store.following.lag import Lag


class Nothing(Dispatcher):
    """Makes nothing durable."""

    name = "nothing"

    def dispatch(self, stretch):
        return 0


async def test_the_counters_of_a_broker_say_it():
    async with ClusterScene(topics={"t": 2}) as world:
        world.store.followers.add(Nothing())
        start = world.clock.now_ms()
        await world.client.ok_send("t", "UNIQ_KEY\x01FD00AA\x02")
        await world.client.ok_send("t", "UNIQ_KEY\x01FD00AB\x02")
        await world.clock.aadvance(7)
        table = decode((await world.client.ok(GetBrokerRuntimeInfo())).body, KVTable).table
        assert table["dispatcher.nothing.cursor"] == "0"
        assert table["dispatcher.nothing.behindBytes"] == str(world.store.log.max_offset)
        assert table["dispatcher.nothing.behindMessages"] == "2"
        assert table["dispatcher.nothing.behindMs"] == str(world.clock.now_ms() - start)


@pytest.fixture
def watched():
    """A part, its clock, and the lags that it looks at."""
    clock, lags = ManualClock(), []
    live = SimpleNamespace(current=SimpleNamespace(dispatcher_lag_warn_seconds=60))
    return DispatchLag(lambda *, count=True: lags, live, clock), clock, lags, live


def told(caplog, part):
    caplog.clear()
    part.look()
    return [record.getMessage() for record in caplog.records if record.name.startswith(ROOT)]


def test_warnings_come_once_then_now_and_then_until_it_has_caught_up(watched, caplog):
    part, clock, lags, _ = watched
    caplog.set_level(logging.INFO, ROOT)
    assert told(caplog, part) == []
    lags.append(Lag("lake", 5, 100, None, clock.now_ms() - 59_999))
    assert told(caplog, part) == []
    clock.advance(0.001)
    [warning] = told(caplog, part)
    assert "far behind" in warning
    assert "lake" in warning
    assert "behind_bytes=100" in warning
    assert told(caplog, part) == []
    clock.advance(AGAIN_MS / 1000)
    assert "far behind" in told(caplog, part)[0]
    lags[0] = Lag("lake", 105, 0, 0, None)
    assert "caught up" in told(caplog, part)[0]
    assert told(caplog, part) == []


def test_no_limit_no_warning_and_unknown_messages_are_minus_one(watched, caplog):
    part, _, lags, live = watched
    live.current.dispatcher_lag_warn_seconds = 0
    lags.append(Lag("lake", 5, 100, None, 0))
    assert told(caplog, part) == []
    assert part.counters()["dispatcher.lake.behindMessages"] == "-1"
