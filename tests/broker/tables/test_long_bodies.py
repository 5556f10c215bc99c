"""Bodies made in slices are those that are made at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mqframe.broker.tables.long_bodies import SLICE, Rewritten, body_parts, table_reply
from mqframe.core.cluster.broker_info import ConsumeTimeSpans, QueueTimeSpan
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.consuming.bodies import ConsumerOffsetTable, ConsumeStats, OffsetWrapper, QueueBody
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import dumps


def topics(count: int) -> TopicConfigTable:
    return TopicConfigTable(
        DataVersion(3), None, {f"t{n}": TopicConfig(topic_name=f"t{n}") for n in range(count)}
    )


def joined(parts: Any) -> bytes:
    return b"".join(bytes(part) for part in parts)


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
async def test_tables_in_slices_are_written_as_at_once(count: int) -> None:
    body = topics(count)
    assert joined(await body_parts(body)) == dumps(body)
    offsets = ConsumerOffsetTable(None, {f"t{n}@g": {0: n} for n in range(count)})
    assert joined(await body_parts(offsets)) == dumps(offsets)
    empty = msgspec.structs.replace(body, topic_config_table={})
    reply = await table_reply(empty, "topicConfigTable", body.topic_config_table.items(), ext={"a": "b"})
    assert (joined(reply.body), reply.ext) == (dumps(body), {"a": "b"})


@pytest.mark.parametrize("count", [0, 1, SLICE + 1])
async def test_queues_as_keys_and_lists_are_written_as_at_once(count: int) -> None:
    table = {MessageQueue("t", "b", n): OffsetWrapper(n) for n in range(count)}
    reply = await table_reply(ConsumeStats(2.0), "offsetTable", table.items())
    assert joined(reply.body) == dumps(ConsumeStats(2.0, table))
    spans = [QueueTimeSpan(QueueBody("b", n, "t")) for n in range(count)]
    reply = await table_reply(ConsumeTimeSpans(), "consumeTimeSpanSet", ((None, span) for span in spans))
    assert joined(reply.body) == dumps(ConsumeTimeSpans(spans))


async def test_only_what_changed_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []

    def counted(value: object) -> bytes:
        if isinstance(value, TopicConfig):
            written.append(value)
        return dumps(value)

    async def text(body: TopicConfigTable) -> bytes:
        return b"".join(await body_parts(body, rewritten))

    monkeypatch.setattr("mqframe.broker.tables.long_bodies.dumps", counted)
    count = 2 * SLICE + 3
    rewritten, body = Rewritten(), topics(count)
    assert await text(body) == dumps(body)
    assert len(written) == count
    written.clear()
    body.topic_config_table["t7"] = TopicConfig(topic_name="t7", perm=2)
    del body.topic_config_table["t8"]
    assert await text(body) == dumps(body)
    assert written == [body.topic_config_table["t7"]]
    for number in range(4):  # what is gone is not kept for ever
        other = TopicConfigTable()
        other.topic_config_table = {f"x{number}-{at}": TopicConfig() for at in range(SLICE + 1)}
        assert await text(other) == dumps(other)
    assert len(rewritten._known["topic_config_table"]) <= 3 * (SLICE + 1)
