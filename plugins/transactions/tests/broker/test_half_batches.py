"""Half messages that hold a batch, over the wire: which are taken, and how they are checked."""

from __future__ import annotations

from typing import Any

import pytest
from halves import (
    COMMIT,
    FOUR,
    ROLLBACK,
    batch,
    bodies,
    end,
    half,
    prepare,
    producer,
    rounds,
    send_batch,
    stored,
)
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.settings import TransactionSettings

from mqframe.core.messages.batch import decode_batch, encode_element
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC
from mqframe.core.requests.admin import ResumeCheckHalfMessage


class TestHalves:
    async def test_a_batch_is_one_half_that_nobody_sees(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world, queue_id=1)
            assert (answer.ext["queueId"], answer.ext["queueOffset"]) == ("1", "0")
            assert answer.ext["transactionId"] == "U1"
            assert bodies(world) == bodies(world, "t", 1) == []
            [message] = stored(world, HALF_TOPIC)
            assert message.body == batch(FOUR)
            assert message.properties | {
                "HALF_BATCH": "4", "job": "7", "REAL_TOPIC": "t", "REAL_QID": "1", "PGROUP": "p",
            } == message.properties  # fmt: skip

    @pytest.mark.parametrize("flag", [None, False])
    async def test_the_code_alone_says_that_it_is_a_batch(self, flag: bool | None) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world, batch=flag)
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == FOUR
            refused = await send_batch(world, b"no batch", 1, batch=flag)
            assert (refused.code, len(stored(world, HALF_TOPIC))) == (13, 1)

    @pytest.mark.parametrize(
        ("body", "count", "fields", "code", "words"),
        [
            (batch(FOUR), 3, {}, 13, "holds 4 messages, its HALF_BATCH is 3"),
            (batch(FOUR)[:-1], 4, {}, 13, "message 3 of the batch"),
            (b"", 0, {}, 13, "has no body"),
            (b"x" * 30, 1, {}, 13, "message 0 of the batch"),
            (encode_element(b"", b""), 1, {}, 13, "message 0 of the batch has no body"),
            (encode_element(b"x", b"DELAY\x013\x02"), 1, {}, 13, "has the property DELAY"),
            (encode_element(b"x", b"TRAN_MSG\x01true\x02"), 1, {}, 13, "has the property TRAN_MSG"),
            (batch(FOUR), 4, {"more": "DELAY\x013\x02"}, 13, "cannot be delayed"),
            (batch(FOUR), 4, {"properties": ""}, 13, "needs TRAN_MSG=true and PGROUP"),
            (batch(FOUR), 4, {"topic": "%RETRY%g"}, 13, "retry topic %RETRY%g takes no batches"),
            (batch(FOUR), 4, {"topic": "absent"}, 17, "does not exist"),
            (batch(FOUR), 4, {"topic": HALF_TOPIC}, 16, "the system's own"),
            (batch(FOUR), 4, {"queue_id": 2}, 29, "queue id 2 of topic t does not exist"),
            (encode_element(b"x" * 70_000, b""), 1, {}, 13, "at most 65536 are allowed"),
        ],
    )
    async def test_bad_ones_are_refused(
        self, body: bytes, count: int, fields: dict[str, Any], code: int, words: str
    ) -> None:
        settings = {"auto_create_topics": False}
        async with ClusterScene(topics={"t": 2}, broker=settings, store={"body_bytes_max": 65536}) as world:
            answer = await send_batch(world, body, count, **fields)
            assert answer.code == code
            assert words in (answer.remark or "")
            assert bodies(world, HALF_TOPIC) == []

    async def test_a_broker_may_take_none(self) -> None:
        async with ClusterScene(topics={"t": 2}, sections=[TransactionSettings(reject=True)]) as world:
            answer = await send_batch(world, batch(FOUR), 4)
            assert (answer.code, answer.remark) == (16, "this broker takes no transactional messages")

    async def test_more_than_one_log_file_holds_is_refused(self) -> None:
        async with ClusterScene(topics={"t": 2}, store={"commit_log_file_bytes": 1 << 17}) as world:
            many = encode_element(b"x", b"") * 1000
            answer = await send_batch(world, many, 1000)
            assert (answer.code, "than a commit-log file of" in (answer.remark or "")) == (13, True)

    async def test_an_ordinary_half_does_not_become_a_batch_by_its_properties(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world, b"plain", "HALF_BATCH\x011\x02")
            assert (await end(world, answer, COMMIT)).code == 0
            [message] = stored(world, "t")
            assert (message.body, "HALF_BATCH" in message.properties) == (b"plain", False)


class TestChecks:
    async def test_a_producer_is_asked_with_the_whole_half(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            await prepare(world)
            await rounds(world, 3)
            assert bodies(world) == []
            assert [each.properties["job"] for each in asked.halves] == ["7"] * 3
            assert [bytes(body) for _, body, _ in decode_batch(asked.halves[-1].body)] == FOUR
            asked.outcome = COMMIT
            await rounds(world, 2)
            assert bodies(world) == FOUR
            assert len(asked.requests) == 4

    async def test_given_up_after_its_checks_and_taken_up_again(self) -> None:
        async with ClusterScene(topics={"t": 2}, sections=[TransactionSettings(check_max=2)]) as world:
            asked = await producer(world)
            await prepare(world)
            await rounds(world, 3)
            [discarded] = stored(world, CHECK_MAX_TIME_TOPIC)
            assert (len(asked.requests), discarded.body) == (2, batch(FOUR))
            asked.outcome = COMMIT
            assert (await world.client.invoke(ResumeCheckHalfMessage(discarded.offset_message_id))).code == 0
            await rounds(world, 1)
            assert bodies(world) == FOUR

    @pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK])
    async def test_a_restart_keeps_what_is_open(self, outcome: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            first, second = await prepare(world), await prepare(world, [b"ended"])
            await rounds(world, 1)
            assert (await end(world, second, COMMIT)).code == 0
            for stop in (world.cluster.kill_broker, world.cluster.stop_broker):
                await stop()
                await world.cluster.start_broker()
                assert bodies(world) == [b"ended"]
            assert (await end(world, second, COMMIT)).code == 604
            # The half was put back twice by checks; its first place still names it.
            assert (await end(world, first, outcome)).code == 0
            assert bodies(world) == [b"ended", *(FOUR if outcome == COMMIT else [])]
            assert asked.requests
