"""A kernel without this distribution: what is refused, and what people are told to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from halves import HALF, batch, send_batch
from mqframe_cli.settings.configuration import load
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.requests import SendHalfBatch
from without import offers_without, without

import mqframe
from mqframe.core.errors import SettingError
from mqframe.hooks import names

OURS = "mqframe-plugin-transactions"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {OURS}'
REFUSED = "this broker takes no transactional messages: its service transactions is "


def told(services_blocked: tuple[str, ...]) -> str:
    if services_blocked:
        return f"{REFUSED}left out (broker.services_blocked)"
    return f"{REFUSED}not installed; install it with: {LINE}"


@pytest.mark.parametrize("services_blocked", [(), ("transactions",)])
async def test_a_half_is_refused_and_never_stored(services_blocked: tuple[str, ...]) -> None:
    async with ClusterScene(
        topics={"t": 2}, plugins=without(OURS), broker={"services_blocked": services_blocked}
    ) as world:
        sent = await world.client.send("t", properties=HALF)
        assert (sent.code, sent.remark) == (16, told(services_blocked))
        whole = await send_batch(world, batch([b"one", b"two"]), 2)
        assert (whole.code, f"{SendHalfBatch.CODE} is not supported" in whole.remark) == (3, True)
        await world.settle()
        assert world.store.log.max_offset == 0
        await world.client.ok_send("t")
        await world.settle()
        assert world.store.queues.max_offset("t", 0) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"items": ["transactions.check_max=3"]},
        {"variables": {"MQFRAME_TRANSACTIONS_CHECK_MAX": "3"}},
    ],
)
@pytest.mark.parametrize("program", ["server", "broker"])
def test_its_section_is_refused(program: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"items": (), "variables": {}, **given}
    assert load(program, {}, None, **values)
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(OURS))
    with pytest.raises(SettingError) as refused:
        load(program, {}, None, **values)
    assert str(refused.value).endswith(
        f"what has the section transactions is not installed; install it with: {LINE}"
    )


def test_its_section_in_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[transactions]\ncheck_max = 3\n")
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: offers_without(OURS))
    with pytest.raises(SettingError, match=r"check_max from .*server\.toml.* is not installed; install it"):
        load("broker", {}, file, (), {})


def test_its_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "entry_points", lambda **of: [])
    monkeypatch.delitem(vars(mqframe), "TransactionProducer", raising=False)
    names.offered_names.cache_clear()
    try:
        with pytest.raises(AttributeError) as refused:
            _ = mqframe.TransactionProducer
    finally:
        names.offered_names.cache_clear()
    assert str(refused.value) == f"mqframe.TransactionProducer is not installed; install it with: {LINE}"


_SERVES = """
import asyncio, sys
from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster
from without import without

async def serve(**options):
    async with AsyncCluster(**options) as cluster:
        async for _ in BrokerSource(cluster.broker).families():
            pass

asyncio.run(serve(**({"plugins": without("mqframe-plugin-transactions")} if sys.argv[1:] else {})))
print(*(name for name in sys.modules if name.startswith("mqframe_transactions")))
"""


@pytest.mark.parametrize("missing", [True, False])
def test_a_broker_imports_nothing_of_it_where_it_is_missing(missing: bool) -> None:
    command = [sys.executable, "-c", _SERVES, *(["missing"] if missing else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert ("mqframe_transactions.broker.service" in loaded) is not missing
    assert [name for name in loaded if missing or name.startswith("mqframe_transactions.client")] == []
