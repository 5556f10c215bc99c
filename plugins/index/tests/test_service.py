"""Brokers with the index, without it, and with one that is left out or switched off."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_index.store.index_files import IndexFiles
from without import without

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.messages import QueryMessage
from mqframe.core.storage.record import decode_records

INDEX = "mqframe-plugin-index"
ASKED = QueryMessage(topic="t", key="k", max_num=32, begin_timestamp=0, end_timestamp=2**63 - 1)
LINE = f'pip install "mqframe[standard]"; it alone: pip install {INDEX}'


def test_a_broker_that_has_it_finds_messages_by_their_keys(run: Any) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t", "KEYS\x01k other\x02", body=b"one")
        answer = await world.talker.ok(ASKED)
        assert [message.stored_body for message in decode_records(answer.body)] == [b"one"]
        index = world.store._files.key_index
        assert isinstance(index, IndexFiles)
        assert [(file.slots, file.entries) for file in index.files] == [(7, 40)]

    run(scenario, sections=[IndexSettings(slots=7, entries=40)])


def test_one_that_is_switched_off_finds_nothing(run: Any) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t", "KEYS\x01k\x02")
        assert (await world.talker.invoke(ASKED)).code == ResponseCode.QUERY_NOT_FOUND
        assert not (world.store.settings.directory / "index").exists()

    run(scenario, sections=[IndexSettings(enabled=False)])


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
def test_without_it_who_asks_is_told_why(run: Any, options: dict[str, Any], why: str) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t", "KEYS\x01k\x02")
        refused = await world.talker.invoke(ASKED)
        assert refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert refused.remark == f"this broker keeps no index of keys: {why}"

    run(scenario, **options)
