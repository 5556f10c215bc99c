"""Answers made in slices are those that are made at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from mqframe_admin.bodies import ConsumeTimeSpans, QueueTimeSpan

from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper, QueueBody
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.table_reply import SLICE, table_reply


def joined(parts: Any) -> bytes:
    return b"".join(bytes(part) for part in parts)


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
async def test_tables_in_slices_are_written_as_at_once(count: int) -> None:
    table = {f"t{n}": TopicConfig(topic_name=f"t{n}") for n in range(count)}
    body = TopicConfigTable(DataVersion(3), None, table)
    empty = msgspec.structs.replace(body, topic_config_table={})
    reply = await table_reply(empty, "topicConfigTable", table.items(), ext={"a": "b"})
    assert (joined(reply.body), reply.ext) == (dumps(body), {"a": "b"})


@pytest.mark.parametrize("count", [0, 1, SLICE + 1])
async def test_queues_as_keys_and_lists_are_written_as_at_once(count: int) -> None:
    table = {MessageQueue("t", "b", n): OffsetWrapper(n) for n in range(count)}
    reply = await table_reply(ConsumeStats(2.0), "offsetTable", table.items())
    assert joined(reply.body) == dumps(ConsumeStats(2.0, table))
    spans = [QueueTimeSpan(QueueBody("b", n, "t")) for n in range(count)]
    reply = await table_reply(ConsumeTimeSpans(), "consumeTimeSpanSet", ((None, span) for span in spans))
    assert joined(reply.body) == dumps(ConsumeTimeSpans(spans))
