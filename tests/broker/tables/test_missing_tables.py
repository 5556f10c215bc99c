"""Saved tables that are missing where queues hold messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.missing_tables import TOLD_OF, tell_of_missing
from mqframe.net.clock import SystemClock
from mqframe.store.settings import StoreSettings

CONFIG = Path("store/config")


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ({}, []),
        ({("orders", 0): 0}, []),
        ({("TBW102", 0): 5}, []),
        ({("orders", 0): 5}, ["topics.json", "subscriptionGroup.json", "consumerOffset.json"]),
        ({("SCHEDULE_TOPIC_XXXX", 2): 5}, ["delayOffset.json"]),
        ({("orders", 0): 5, ("SCHEDULE_TOPIC_XXXX", 2): 5}, list(TOLD_OF)),
    ],
)
def test_what_is_told_depends_on_what_queues_hold(
    messages: dict[tuple[str, int], int], told: list[str], caplog: Any
) -> None:
    assert tell_of_missing({"other.json", *TOLD_OF}, CONFIG, messages) == told
    assert [str(CONFIG / name) in line for name, line in zip(told, caplog.messages, strict=True)] == [
        True for _ in told
    ]
    assert tell_of_missing({"other.json"}, CONFIG, messages) == []


async def test_a_start_without_progress_says_so_once_and_no_more_when_it_was_made(
    tmp_path: Path, caplog: Any
) -> None:
    async def lines(*, send: bool = False) -> list[str]:
        caplog.clear()
        store = StoreSettings(directory=tmp_path, commit_log_file_bytes=1 << 20, disk_limits=False)
        settings = BrokerSettings(port=0, vip_port=False)
        broker = Broker(BrokerSections(settings, store), SystemClock())
        await broker.start()
        if send:
            port: Any = broker.service_port
            port.offsets.commit("g", "orders", 0, 0)
            port.writer.put("orders", 0, b"x", {}, born_timestamp=0)
        await broker.stop()
        return [line for line in caplog.messages if "is missing" in line]

    assert await lines() == []
    assert await lines(send=True) == []
    assert await lines() == []
    config = tmp_path / "config"
    (config / "consumerOffset.json").unlink()
    assert await lines() == []  # the copy is there
    for name in ("consumerOffset.json", "consumerOffset.json.bak"):
        (config / name).unlink(missing_ok=True)
    (line,) = await lines()
    assert "consumerOffset.json" in line
    assert "the progress of all groups" in line
    assert await lines() == []
