"""Brokers with the index, without it, and with one that is left out or switched off."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_index.store.index_files import IndexFiles
from mqframe_testing.cluster_scene import ClusterScene
from without import without

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.messages import QueryMessage
from mqframe.core.storage.record import decode_records

INDEX = "mqframe-plugin-index"
ASKED = QueryMessage(topic="t", key="k", max_num=32, begin_timestamp=0, end_timestamp=2**63 - 1)
LINE = f'pip install "mqframe[standard]"; it alone: pip install {INDEX}'


async def test_a_broker_that_has_it_finds_messages_by_their_keys() -> None:
    async with ClusterScene(topics={"t": 2}, sections=[IndexSettings(slots=7, entries=40)]) as world:
        await world.client.ok_send("t", "KEYS\x01k other\x02", body=b"one")
        answer = await world.client.ok(ASKED)
        assert [message.stored_body for message in decode_records(answer.body)] == [b"one"]
        index = world.store.files.key_index
        assert isinstance(index, IndexFiles)
        assert [(file.slots, file.entries) for file in index.files] == [(7, 40)]


async def test_one_that_is_switched_off_finds_nothing() -> None:
    async with ClusterScene(topics={"t": 2}, sections=[IndexSettings(enabled=False)]) as world:
        await world.client.ok_send("t", "KEYS\x01k\x02")
        assert (await world.client.invoke(ASKED)).code == ResponseCode.QUERY_NOT_FOUND
        assert not (world.store.settings.directory / "index").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"plugins": without(INDEX)}, f"its service index is not installed; install it with: {LINE}"),
        (
            {"broker": {"services_blocked": ("index",)}},
            "its service index is left out (broker.services_blocked)",
        ),
    ],
)
async def test_without_it_who_asks_is_told_why(options: dict[str, Any], why: str) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.client.ok_send("t", "KEYS\x01k\x02")
        refused = await world.client.invoke(ASKED)
        assert refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert refused.remark == f"this broker keeps no index of keys: {why}"
