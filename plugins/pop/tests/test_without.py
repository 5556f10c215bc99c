"""A broker and programs where the distribution is not installed, or is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mqframe_assignment.settings import AssignmentSettings
from mqframe_cli.settings.configuration import load
from mqframe_pop import AsyncSimpleConsumer
from mqframe_pop.requests import PopMessage
from mqframe_testing.cluster_scene import ClusterScene
from popping import pop_request
from without import offers_without, without

from mqframe import Producer, SettingError
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError
from mqframe.hooks.manager import PluginManager

NAME = "mqframe-plugin-pop"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {NAME}'
UNKNOWN = f"request code {PopMessage.CODE} is not supported"


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything else were installed."""
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(NAME))


def blocked() -> PluginManager:
    """A manager for which it is blocked."""
    plugins = PluginManager()
    plugins.block(NAME)
    return plugins


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"plugins": without(NAME)}, f"{UNKNOWN}: {NAME} is not installed there; install it with: {LINE}"),
        ({"plugins": blocked()}, UNKNOWN),
        ({"broker": {"services_blocked": ("pop",)}}, UNKNOWN),
    ],
    ids=["not installed", "blocked", "left out"],
)
async def test_a_pop_is_refused_with_what_is_to_be_done(options: dict[str, Any], remark: str) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.client.ok_send("t")
        answer = await world.client.invoke(pop_request())
        assert (answer.code, answer.remark) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        assert world.store.queues.max_offset("t", 0) == 1


async def test_a_simple_consumer_hears_what_to_install() -> None:
    async with ClusterScene(topics={"t": 2}, plugins=without(NAME)) as world:
        consumer = AsyncSimpleConsumer(
            "g", nameserver=world.cluster.nameserver, consume_from="first", clock=world.clock
        )
        consumer.subscribe("t")
        async with consumer:
            with pytest.raises(AnswerError, match=re.escape(LINE)):
                await consumer.receive(await_duration=0)


@pytest.mark.usefixtures("not_installed")
@pytest.mark.parametrize(
    ("text", "item", "variables", "named"),
    [
        ("[pop]\nstay_ms = 5\n", None, {}, r"pop\.stay_ms from .*server\.toml \[pop\]"),
        ("", "pop.stay_ms=5", {}, r"pop\.stay_ms from command line --set pop\.stay_ms"),
        ("", None, {"MQFRAME_POP_STAY_MS": "5"}, "MQFRAME_POP_STAY_MS from variable MQFRAME_POP_STAY_MS"),
    ],
    ids=["file", "command line", "variable"],
)
def test_its_settings_are_refused_with_what_to_install(
    text: str, item: str | None, variables: dict[str, str], named: str, tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    items = [item] if item else []
    for program in ("server", "broker"):
        with pytest.raises(SettingError, match=named) as refused:
            load(program, {}, file, items, variables)
        assert str(refused.value).endswith(f"install it with: {LINE}")


@pytest.mark.usefixtures("not_installed")
def test_programs_without_a_broker_pass_its_settings_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mqframe.toml"
    file.write_text("[pop]\nstay_ms = 5\n")
    assert load("nameserver", {}, file, (), {}).passed_over
    monkeypatch.chdir(tmp_path)
    assert Producer.from_config(group="shop", nameserver="127.0.0.1:1")


@pytest.mark.usefixtures("not_installed")
@pytest.mark.parametrize("old", ["pop.request_mode", "broker.request_mode", "assignment.request_mode"])
def test_how_groups_read_is_no_setting_of_it_by_any_name(old: str, tmp_path: Path) -> None:
    section, _, name = old.partition(".")
    file = tmp_path / "server.toml"
    file.write_text(f'[{section}]\n{name} = "POP"\n')
    assert load("broker", {}, file, (), {}).section(AssignmentSettings).request_mode == "POP"
    variables = {f"MQFRAME_{section.upper()}_REQUEST_MODE": "POP"}
    assert load("broker", {}, None, (), variables).section(AssignmentSettings).request_mode == "POP"


STARTS = """
import asyncio, sys
from importlib.metadata import entry_points
from mqframe.hooks.manager import PluginManager
from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster
from mqframe import Message, AsyncProducer

found = [each for each in entry_points(group="mqframe") if each.dist.name != "mqframe-plugin-pop"]

async def serve():
    async with AsyncCluster(plugins=PluginManager(lambda: found)) as cluster:
        async with AsyncProducer(group="shop", nameserver=cluster.nameserver) as producer:
            print((await producer.send(Message("t", b"x"))).status.name)
        async for _ in BrokerSource(cluster.broker).families():
            pass

asyncio.run(serve())
print(*(name for name in sys.modules if name.startswith("mqframe_pop")))
"""


def test_nothing_of_it_is_loaded_where_it_is_not_installed() -> None:
    done = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["SEND_OK"]
