"""What a commit stores: the message of a half, or all messages of its batch, and nothing between them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from broker.conftest import LocalStore
from halves import (
    COMMIT,
    FOUR,
    ROLLBACK,
    batch,
    bodies,
    cursors,
    end,
    end_request,
    first_file,
    local_half,
    offset_of,
    prepare,
    rounds,
    stored,
)
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.broker.half_delivery import Delivered, HalfDelivery
from mqframe_transactions.rules.half_batch import OP_RECORD_BYTES_MAX

from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC

FILE_BYTES = 8192


def delivery_of(local: Any) -> HalfDelivery:
    return HalfDelivery(local.writer)


class TestOneMessage:
    async def test_it_is_stored_as_it_was_prepared(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            host, compressed = encode_host("10.0.0.7:4000"), zlib.compress(b"paid")
            local.put("t", b"before", 1)
            head = {"flag": 3, "sys_flag": 5, "reconsume_times": 1, "born_timestamp": 77, "born_host": host}
            half = local_half(local, compressed, TAGS="red", TRAN_PREPARED_QUEUE_OFFSET=0, **head)
            local.clock.advance(2)
            delivered = delivery_of(local).deliver(half)
            [_, message] = local.messages("t", 1)
            assert message.sys_flag == 9, "committed instead of prepared; the rest of the flag stays"
            assert (message.stored_body, message.body) == (compressed, b"paid")
            assert (message.flag, message.reconsume_times) == (3, 1)
            assert (message.born_timestamp, message.born_host) == (77, "10.0.0.7:4000")
            assert message.prepared_transaction_offset == half.commit_log_offset
            assert message.properties == {
                name: value for name, value in half.properties.items() if name != p.PREPARED_QUEUE_OFFSET
            }
            assert delivered == Delivered("t", 1, message.store_size, local.store.log.max_offset)

    async def test_what_is_stored_already_is_not_stored_again(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            assert delivery_of(local).deliver(local_half(local), 1) == Delivered("t", 0, 0, 0)
            assert local.bodies("t", 1) == []

    async def test_its_delay_begins_with_the_commit_and_not_before(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            half = local_half(local, b"later", DELAY=3)
            delivery = delivery_of(local)
            copy = delivery.put(HALF_TOPIC, 0, half, dict(half.properties), half.sys_flag)
            assert (copy.queue_offset, local.bodies(SCHEDULE_TOPIC, 2)) == (1, [])
            delivery.deliver(half)
            [waiting] = local.messages(SCHEDULE_TOPIC, 2)
            assert (waiting.body, waiting.properties["REAL_TOPIC"]) == (b"later", "t")
            assert waiting.properties["REAL_QID"] == "1"
            assert (local.bodies("t", 1), local.bodies(HALF_TOPIC)) == ([], [b"later"] * 2)

    async def test_a_store_that_takes_nothing_is_for_the_caller_to_wait_for(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            half = local_half(local)
            local.take_only(0)
            with pytest.raises(Refusal, match="the disk is full"):
                delivery_of(local).deliver(half)
            assert local.bodies("t", 1) == []


class TestOneBatch:
    async def test_its_messages_lie_in_order_each_with_what_the_broker_adds(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            given = {"MSG_REGION": "r", "TRACE_ON": "true", "CLUSTER": "c"}
            half = local_half(local, batch(FOUR), HALF_BATCH=4, KEYS="k", **given)
            delivered = delivery_of(local).deliver(half)
            found = local.messages("t", 1)
            assert [(m.body, m.queue_offset, m.flag) for m in found] == [
                (body, number, number) for number, body in enumerate(FOUR)
            ]
            assert [m.properties for m in found] == [
                {"UNIQ_KEY": body.decode(), "TAGS": "red", **given} for body in FOUR
            ]
            assert {m.prepared_transaction_offset for m in found} == {half.commit_log_offset}
            assert {m.sys_flag for m in found} == {8}
            size = sum(message.store_size for message in found)
            assert delivered == Delivered("t", 4, size, local.store.log.max_offset)

    @pytest.mark.parametrize("done", [1, 3, 4, 5])
    async def test_it_goes_on_behind_what_is_stored_already(self, done: int, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            half = local_half(local, batch(FOUR), HALF_BATCH=4)
            delivered = delivery_of(local).deliver(half, done)
            assert local.bodies("t", 1) == FOUR[done:]
            assert (delivered.topic, delivered.messages) == ("t", len(FOUR[done:]))
            assert bool(delivered.end) == bool(FOUR[done:])

    @pytest.mark.parametrize(
        ("body", "count", "done"),
        [
            (batch(FOUR)[:-1], "4", 0),
            (batch(FOUR)[:-1], "4", 4),
            (b"x" * 30, "1", 0),
            (batch(FOUR), "four", 0),
        ],
    )
    async def test_one_that_cannot_be_read_is_refused_whole(
        self, body: bytes, count: str, done: int, tmp_path: Path
    ) -> None:
        async with LocalStore(tmp_path / "store") as local:
            half = local_half(local, body, HALF_BATCH=count)
            with pytest.raises(Refusal, match="the batch of half U1 cannot be read") as caught:
                delivery_of(local).deliver(half, done)
            assert (caught.value.code, local.bodies("t", 1)) == (1, [])


class TestRoom:
    """Nothing comes between messages and their op message, not even the border of two files."""

    @pytest.mark.parametrize(
        "half_of",
        [
            lambda local: local_half(local, b"x" * 500),
            lambda local: local_half(local, batch([b"y"] * 2), HALF_BATCH=2),
        ],
    )
    @pytest.mark.parametrize("left", [OP_RECORD_BYTES_MAX, 3 * OP_RECORD_BYTES_MAX])
    async def test_a_commit_begins_a_file_that_it_ends_in(
        self, half_of: Callable[[Any], Any], left: int, tmp_path: Path
    ) -> None:
        async with LocalStore(tmp_path / "store", commit_log_file_bytes=FILE_BYTES) as local:
            half = half_of(local)
            filler = FILE_BYTES - left - local.store.log.max_offset
            overhead = local.put("filler", b"").size
            local.put("filler", b"x" * (filler - 2 * overhead))
            assert local.store.log.max_offset == FILE_BYTES - left
            delivered = delivery_of(local).deliver(half)
            first = local.messages("t", 1)[0].commit_log_offset
            assert first == (FILE_BYTES if left == OP_RECORD_BYTES_MAX else FILE_BYTES - left)
            assert (delivered.end + OP_RECORD_BYTES_MAX - 1) // FILE_BYTES == first // FILE_BYTES


class TestBatches:
    """Batches that producers prepare and end, over the wire."""

    async def test_commit_delivers_all_in_order(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            await world.client.ok_send("t", "UNIQ_KEY\x01X\x02")
            answer = await prepare(world)
            await world.client.ok_send("t", "UNIQ_KEY\x01Y\x02")
            world.clock.advance(2)
            assert (await end(world, answer, COMMIT)).code == 0
            found = stored(world, "t")
            assert [message.body for message in found] == [b"body", b"body", *FOUR]
            assert [message.queue_offset for message in found] == list(range(6))
            delivered = found[2:]
            assert [message.flag for message in delivered] == [0, 1, 2, 3]
            assert [message.message_id.encode() for message in delivered] == FOUR
            assert {message.tag for message in delivered} == {"red"}
            assert {message.prepared_transaction_offset for message in delivered} == {offset_of(answer)}
            assert {message.sys_flag for message in delivered} == {8}
            assert {message.born_timestamp for message in delivered} == {1_700_000_000_000}
            assert delivered[0].properties == {
                "UNIQ_KEY": "one", "TAGS": "red", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
                "CLUSTER": "DefaultCluster",
            }  # fmt: skip
            assert bodies(world, OP_HALF_TOPIC) == [b"0"]

    async def test_rollback_delivers_none(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world)
            assert (await end(world, answer, ROLLBACK)).code == 0
            await rounds(world, 2)
            assert bodies(world) == []
            assert await cursors(world) == (1, 1)

    @pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
    @pytest.mark.parametrize("second", [COMMIT, ROLLBACK])
    async def test_ends_count_once(self, first: int, second: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world)
            assert (await end(world, answer, first)).code == 0
            assert (await end(world, answer, second)).code == 604
            await rounds(world, 2)
            assert (await end(world, answer, second)).code == 604
            assert bodies(world) == (FOUR if first == COMMIT else [])

    async def test_messages_of_many_commits_do_not_mix(self) -> None:
        # The log turns to its next file many times; no commit is torn between two.
        async with ClusterScene(topics={"t": 2}, store={"commit_log_file_bytes": 8192}) as world:
            sets = [[b"%d-%d" % (number, part) for part in range(5)] for number in range(20)]
            answers = [await prepare(world, each) for each in sets]
            for done in [world.client.invoke(end_request(answer, COMMIT)) for answer in answers]:
                assert (await done).code == 0
            delivered = stored(world, "t")
            assert [m.body for m in delivered] == [body for each in sets for body in each]
            ops = stored(world, OP_HALF_TOPIC)
            ends = [m.commit_log_offset + m.store_size for m in delivered[4::5]]
            assert [op.commit_log_offset for op in ops] == ends, "nothing comes between, not even a border"

    async def test_a_damaged_half_stays_open(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world)
            with first_file(world).open("r+b") as log:
                log.seek(offset_of(answer) + 88)
                log.write(b"\xff" * 8)
            refused = await end(world, answer, COMMIT)
            assert refused.code == 1
            assert "cannot be read: message 0 of the batch" in (refused.remark or "")
            assert bodies(world) == bodies(world, OP_HALF_TOPIC) == []

    async def test_statistics_count_each_message(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world)
            await end(world, answer, COMMIT)
            assert world.cluster.broker._state.counts.topic("t").total == 4
