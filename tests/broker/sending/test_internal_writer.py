"""Writes of the broker itself: who is noted as their origin, which delays count, what is refused."""

from __future__ import annotations

import asyncio

import pytest
from broker.conftest import LocalStore

from mqframe.core.errors import BodyError, Refusal
from mqframe.core.messages.addresses import encode_host


async def test_a_message_is_the_broker_s_own_unless_it_has_another_origin(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        writer = local.writer
        own = writer.put("t", 2, b"own", {"KEYS": "k"}, born_timestamp=7)
        host = encode_host("10.1.2.3:400")
        moved = writer.put("t", 2, b"moved", {}, born_timestamp=8, born_host=host, reconsume_times=3)
        first, second = (local.at(each.commit_log_offset) for each in (own, moved))
        assert (first.topic, first.queue_id, first.body, first.properties["KEYS"]) == ("t", 2, b"own", "k")
        assert (first.born_timestamp, first.born_host) == (7, first.store_host)
        assert (second.born_host, second.reconsume_times) == ("10.1.2.3:400", 3)
        assert (own.queue_offset, moved.queue_offset) == (0, 1)
        assert (local.store.dispatch.is_due, local.store.queues.max_offset("t", 2)) == (True, 0)
        await asyncio.sleep(0)
        assert (local.store.dispatch.is_due, local.store.queues.max_offset("t", 2)) == (False, 2)


async def test_a_delay_counts_unless_it_is_over(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        writer = local.writer
        waits = writer.put("t", 1, b"", {"DELAY": "3"}, born_timestamp=0)
        over = writer.put("t", 1, b"", {"DELAY": "3"}, born_timestamp=0, heed_delay=False)
        first, second = (local.at(each.commit_log_offset) for each in (waits, over))
        assert (first.topic, first.queue_id) == ("SCHEDULE_TOPIC_XXXX", 2)
        assert (first.properties["REAL_TOPIC"], first.properties["REAL_QID"]) == ("t", "1")
        assert (second.topic, second.queue_id, second.properties["DELAY"]) == ("t", 1, "3")


async def test_what_the_store_does_not_take_is_refused_and_leaves_nothing(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        writer = local.writer
        with pytest.raises(Refusal) as caught:
            writer.put("t", 0, bytes(8 << 20), {}, born_timestamp=0)
        assert caught.value.code == 13
        with pytest.raises(BodyError):
            writer.put_batch(
                "t", 0, b"no batch", b"", born_timestamp=0, born_host=encode_host("1.2.3.4:5"), sys_flag=0,
                prepared_transaction_offset=0,
            )  # fmt: skip
        assert (local.store.dispatch.is_due, local.store.log.max_offset) == (False, 0)
