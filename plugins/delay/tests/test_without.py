"""A kernel without the plugin: it delivers levels, and says what to install for given times."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from mqframe_cli.app import app
from mqframe_testing.cluster_scene import ClusterScene
from typer.testing import CliRunner
from without import offers_without, without

from mqframe.broker.chosen_services import service_names
from mqframe.broker.settings import BrokerSettings
from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.core.requests.messages import RecallMessage

DELAY = "mqframe-plugin-delay"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {DELAY}'


async def test_levels_are_delivered_and_times_are_refused_with_what_to_install() -> None:
    async with ClusterScene(topics={"t": 2}, plugins=without(DELAY)) as world:
        refused = await world.client.send("t", properties="TIMER_DELAY_SEC\x015\x02")
        why = f"its service delay is not installed; install it with: {LINE}"
        assert (refused.code, refused.remark) == (1, f"this broker delivers nothing at a given time: {why}")
        for request in (GetTimerMetrics(), RecallMessage(topic="t", recall_handle="h")):
            assert (await world.client.invoke(request)).code == 3
        await world.client.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(1)
        assert world.store.queues.max_offset("t", 0) == 1


def test_a_broker_has_its_other_services() -> None:
    assert service_names(BrokerSettings(), without(DELAY, "mqframe-speedups")) == [
        "transactions",
        "delay_levels",
        "pop",
        "request_reply",
        "admin",
        "index",
        "assignment",
    ]


_SERVES = """
import asyncio, sys
from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster
from without import without

async def serve():
    async with AsyncCluster(plugins=without(sys.argv[1])) as cluster:
        async for _ in BrokerSource(cluster.broker).families():
            pass

asyncio.run(serve())
print(*(name for name in sys.modules if name.startswith("mqframe")))
"""


def test_nothing_of_it_is_loaded_then() -> None:
    words = [sys.executable, "-c", _SERVES, DELAY]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert "mqframe.broker.delay_levels.delivery" in loaded
    assert [name for name in loaded if name.startswith("mqframe_delay")] == []


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offers_without(DELAY)
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: found)


def shown(*words: str) -> Any:
    return CliRunner().invoke(app, ["config", "show", *words])


@pytest.mark.usefixtures("missing")
def test_its_section_is_refused_with_what_to_install() -> None:
    result = shown("--set", "delay.recall=false")
    assert result.exit_code == 2
    assert "delay.recall" in result.output
    assert LINE in " ".join(result.output.split())


@pytest.mark.usefixtures("missing")
def test_the_old_name_of_the_levels_goes_on_working() -> None:
    result = shown("--set", "delay.levels=1s 2s", "--changed", "--json")
    (row,) = json.loads(result.stdout)
    assert (row["setting"], row["value"]) == ("store.delay_levels", "1s 2s")
    assert "by its old name delay.levels" in row["origin"]
