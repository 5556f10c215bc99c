"""Producers and brokers where the distribution is not installed, or is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.settings.configuration import load
from mqframe_testing import AsyncCluster, ManualClock
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.scripted_broker import ScriptedBroker
from without import offers_without, without

from mqframe import AsyncProducer, ClientSettings, FixError, Message, SettingError
from mqframe.client.connection.instance import ClientInstance
from mqframe.core.codes import ResponseCode
from mqframe.core.requests.replies import SendReplyMessageV2
from mqframe.hooks import client_parts
from mqframe.hooks.manager import PluginManager

NAME = "mqframe-plugin-requestreply"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {NAME}'
UNKNOWN = f"request code {SendReplyMessageV2.CODE} is not supported"
PUSHED = 326


@pytest.fixture
def not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it brought no parts of clients, of which the kernel asks in two modules."""
    for module in ("mqframe.hooks.client_parts", "mqframe.client.connection.instance"):
        monkeypatch.setattr(f"{module}.offered_parts", dict[str, EntryPoint])


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
        ({"broker": {"services_blocked": ("request_reply",)}}, UNKNOWN),
    ],
    ids=["not installed", "blocked", "left out"],
)
async def test_a_broker_refuses_replies_with_what_is_to_be_done(options: dict[str, Any], remark: str) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        reply = SendReplyMessageV2("p", "DefaultCluster_REPLY_TOPIC", "TBW102", 4, 0, 0, 17, 3, "")
        answer = await world.client.invoke(reply, b"answer")
        assert (answer.code, answer.remark) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)


@pytest.mark.usefixtures("not_there")
async def test_a_producer_says_what_to_install_and_goes_on_sending() -> None:
    async with (
        AsyncCluster() as cluster,
        AsyncProducer("shop", nameserver=cluster.nameserver) as producer,
    ):
        with pytest.raises(FixError, match=re.escape(f"requests need {NAME}, which is not installed")):
            await producer.request(Message("questions", b"?"))
        assert (await producer.send(Message("questions", b"!"))).queue_offset == 0


@pytest.mark.usefixtures("not_there")
async def test_a_client_serves_no_replies() -> None:
    clock = ManualClock()
    broker = ScriptedBroker(clock, {})
    instance = ClientInstance(ClientSettings(nameserver="n:1"), clock, broker)  # type: ignore[arg-type]
    assert PUSHED not in broker.handlers
    with pytest.raises(FixError, match=f"replies need {NAME}"):
        instance.replies  # noqa: B018


async def test_a_client_with_it_serves_replies() -> None:
    assert client_parts.offered_parts().keys() >= {"replies", "requests"}
    clock = ManualClock()
    broker = ScriptedBroker(clock, {})
    ClientInstance(ClientSettings(nameserver="n:1"), clock, broker)  # type: ignore[arg-type]
    assert PUSHED in broker.handlers


@pytest.mark.parametrize("name", ["request_reply.store_replies", "broker.store_replies"])
def test_its_setting_is_refused_with_what_to_install(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section, _, key = name.partition(".")
    file = tmp_path / "server.toml"
    file.write_text(f"[{section}]\n{key} = false\n")
    kept = load("broker", {}, file, (), {})
    assert {each.path: each.value for each in kept.entries}["request_reply.store_replies"] is False
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(NAME))
    with pytest.raises(SettingError, match=rf"{section}\.{key}"):
        load("broker", {}, file, (), {})


def test_nothing_of_it_is_loaded_until_somebody_asks() -> None:
    code = (
        "import sys; from mqframe import Producer; p = Producer('shop', nameserver='127.0.0.1:1')\n"
        "print(*(name for name in sys.modules if name.startswith('mqframe_request_reply')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
