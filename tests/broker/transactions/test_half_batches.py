"""Half messages that hold a batch, over the wire; and commits that a crash cuts off anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from broker.halves import (
    COMMIT,
    HALF,
    ROLLBACK,
    bodies,
    cursors,
    end,
    end_request,
    half,
    producer,
    rounds,
    stored,
)

from mqframe.core.batch import decode_batch, encode_element
from mqframe.core.frame import Frame
from mqframe.core.requests.admin import ResumeCheckHalfMessage
from mqframe.core.requests.messages import SendHalfBatch
from mqframe.core.topics import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC

FOUR = [b"one", b"two", b"three", b"four"]


def batch(bodies: list[bytes]) -> bytes:
    return b"".join(
        encode_element(body, b"UNIQ_KEY\x01%s\x02TAGS\x01red\x02" % body, number)
        for number, body in enumerate(bodies)
    )


async def send(world: Any, body: bytes, count: int, more: str = "", **fields: Any) -> Frame:
    values: dict[str, Any] = {
        "producer_group": "p", "topic": "t", "default_topic": "TBW102", "default_topic_queue_nums": 4,
        "queue_id": 0, "sys_flag": 4, "born_timestamp": world.clock.now_ms(), "flag": 0, "batch": True,
        "properties": f"{HALF}HALF_BATCH\x01{count}\x02job\x017\x02{more}",
    }  # fmt: skip
    answer: Frame = await world.talker.invoke(SendHalfBatch(**(values | fields)), body)
    return answer


async def prepare(world: Any, sent: list[bytes] = FOUR, **fields: Any) -> Frame:
    answer = await send(world, batch(sent), len(sent), **fields)
    assert answer.code == 0, answer.remark
    return answer


def offset_of(answer: Frame) -> int:
    return int((answer.ext or {})["msgId"][-16:], 16)


class TestHalves:
    def test_a_batch_is_one_half_that_nobody_sees(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world, queue_id=1)
            assert (answer.ext["queueId"], answer.ext["queueOffset"]) == ("1", "0")
            assert answer.ext["transactionId"] == "U1"
            assert bodies(world) == bodies(world, "t", 1) == []
            [message] = stored(world, HALF_TOPIC)
            assert message.body == batch(FOUR)
            assert message.properties | {
                "HALF_BATCH": "4", "job": "7", "REAL_TOPIC": "t", "REAL_QID": "1", "PGROUP": "p",
            } == message.properties  # fmt: skip

        run(scenario)

    @pytest.mark.parametrize("flag", [None, False])
    def test_the_code_alone_says_that_it_is_a_batch(self, run: Any, flag: bool | None) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world, batch=flag)
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == FOUR
            refused = await send(world, b"no batch", 1, batch=flag)
            assert (refused.code, len(stored(world, HALF_TOPIC))) == (13, 1)

        run(scenario)

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
    def test_bad_ones_are_refused(
        self, run: Any, body: bytes, count: int, fields: dict[str, Any], code: int, words: str
    ) -> None:
        async def scenario(world: Any) -> None:
            answer = await send(world, body, count, **fields)
            assert answer.code == code
            assert words in (answer.remark or "")
            assert bodies(world, HALF_TOPIC) == []

        settings = {"auto_create_topics": False}
        run(scenario, broker=settings, store={"body_bytes_max": 65536})

    def test_a_broker_may_take_none(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await send(world, batch(FOUR), 4)
            assert (answer.code, answer.remark) == (16, "this broker takes no transactional messages")

        run(scenario, broker={"reject_transactions": True})

    def test_more_than_one_log_file_holds_is_refused(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            many = encode_element(b"x", b"") * 1000
            answer = await send(world, many, 1000)
            assert (answer.code, "than a commit-log file of" in (answer.remark or "")) == (13, True)

        run(scenario, store={"commit_log_file_bytes": 1 << 17})

    def test_an_ordinary_half_does_not_become_a_batch_by_its_properties(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, b"plain", "HALF_BATCH\x011\x02")
            assert (await end(world, answer, COMMIT)).code == 0
            [message] = stored(world, "t")
            assert (message.body, "HALF_BATCH" in message.properties) == (b"plain", False)

        run(scenario)


class TestEnds:
    def test_commit_delivers_all_in_order(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02")
            answer = await prepare(world)
            await world.talker.ok_send("t", "UNIQ_KEY\x01Y\x02")
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

        run(scenario)

    def test_rollback_delivers_none(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world)
            assert (await end(world, answer, ROLLBACK)).code == 0
            await rounds(world, 2)
            assert bodies(world) == []
            assert await cursors(world) == (1, 1)

        run(scenario)

    @pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
    @pytest.mark.parametrize("second", [COMMIT, ROLLBACK])
    def test_ends_count_once(self, run: Any, first: int, second: int) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world)
            assert (await end(world, answer, first)).code == 0
            assert (await end(world, answer, second)).code == 604
            await rounds(world, 2)
            assert (await end(world, answer, second)).code == 604
            assert bodies(world) == (FOUR if first == COMMIT else [])

        run(scenario)

    def test_messages_of_many_commits_do_not_mix(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            sets = [[b"%d-%d" % (number, part) for part in range(5)] for number in range(20)]
            answers = [await prepare(world, each) for each in sets]
            for done in [world.talker.invoke(end_request(answer, COMMIT)) for answer in answers]:
                assert (await done).code == 0
            delivered = stored(world, "t")
            assert [m.body for m in delivered] == [body for each in sets for body in each]
            ops = stored(world, OP_HALF_TOPIC)
            ends = [m.commit_log_offset + m.store_size for m in delivered[4::5]]
            assert [op.commit_log_offset for op in ops] == ends, "nothing comes between, not even a border"

        # The log turns to its next file many times; no commit is torn between two.
        run(scenario, store={"commit_log_file_bytes": 8192})

    def test_a_damaged_half_stays_open(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world)
            with first_file(world).open("r+b") as log:
                log.seek(offset_of(answer) + 88)
                log.write(b"\xff" * 8)
            refused = await end(world, answer, COMMIT)
            assert refused.code == 1
            assert "cannot be read: message 0 of the batch" in (refused.remark or "")
            assert bodies(world) == bodies(world, OP_HALF_TOPIC) == []

        run(scenario)

    def test_statistics_count_each_message(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world)
            await end(world, answer, COMMIT)
            assert world.cluster.broker._state.statistics.topic("t").total == 4

        run(scenario)


class TestChecks:
    def test_a_producer_is_asked_with_the_whole_half(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
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

        run(scenario)

    def test_given_up_after_its_checks_and_taken_up_again(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            await prepare(world)
            await rounds(world, 3)
            [discarded] = stored(world, CHECK_MAX_TIME_TOPIC)
            assert (len(asked.requests), discarded.body) == (2, batch(FOUR))
            asked.outcome = COMMIT
            assert (await world.talker.invoke(ResumeCheckHalfMessage(discarded.offset_message_id))).code == 0
            await rounds(world, 1)
            assert bodies(world) == FOUR

        run(scenario, broker={"transaction_check_max": 2})

    @pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK])
    def test_a_restart_keeps_what_is_open(self, run: Any, outcome: int) -> None:
        async def scenario(world: Any) -> None:
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

        run(scenario)


def first_file(world: Any) -> Path:
    found: Path = world.cluster.directory / "broker-a/commitlog" / ("0" * 20)
    return found


async def cut(world: Any, offset: int) -> None:
    """Kill the broker, lose the log from `offset` on, start again."""
    await world.cluster.kill_broker()
    file = first_file(world)
    with file.open("r+b") as log:
        log.seek(offset)
        log.write(bytes(file.stat().st_size - offset))
    await world.cluster.start_broker()


class TestCrashes:
    """A log that ends behind any record of a commit, or in the middle of one."""

    @pytest.mark.parametrize("torn", [0, 1, 40, 150])
    @pytest.mark.parametrize("number", range(6))
    def test_a_batch_comes_whole_and_once(self, run: Any, number: int, torn: int) -> None:
        async def scenario(world: Any) -> None:
            await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02")
            other = await prepare(world, [b"other"])
            answer = await prepare(world)
            begin = world.store.max_offset
            assert (await end(world, answer, COMMIT)).code == 0
            borders = [begin, *(m.commit_log_offset + m.store_size for m in stored(world, "t")[1:])]
            borders.append(world.store.max_offset)
            assert len(borders) == 6
            await cut(world, max(begin, borders[number] - torn))
            # What was begun is complete before anybody asks; of what was not even begun nothing is there.
            begun = number >= 1 + bool(torn)
            assert bodies(world) == [b"body", *(FOUR if begun else [])]
            again = await end(world, answer, COMMIT)
            assert again.code == (604 if begun else 0)
            assert bodies(world) == [b"body", *FOUR]
            assert (await end(world, other, COMMIT)).code == 0
            await cut(world, world.store.max_offset)
            assert bodies(world) == [b"body", *FOUR, b"other"]
            assert (await end(world, answer, COMMIT)).code == 604

        run(scenario)

    @pytest.mark.parametrize("number", range(3))
    def test_a_single_half_comes_once(self, run: Any, number: int) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, b"single")
            begin = world.store.max_offset
            assert (await end(world, answer, COMMIT)).code == 0
            [message] = stored(world, "t")
            borders = [begin, message.commit_log_offset + message.store_size, world.store.max_offset]
            await cut(world, borders[number])
            assert (await end(world, answer, COMMIT)).code == (604 if number else 0)
            assert bodies(world) == [b"single"]

        run(scenario)

    def test_a_delayed_half_comes_once(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, b"later", "DELAY\x013\x02")
            await end(world, answer, COMMIT)
            [waiting] = stored(world, SCHEDULE_TOPIC, 2)
            await cut(world, waiting.commit_log_offset + waiting.store_size)
            assert (await end(world, answer, COMMIT)).code == 604
            await rounds(world, 1)
            assert bodies(world) == [b"later"]

        run(scenario)

    def test_the_answer_to_a_check_comes_again(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world, COMMIT)
            await prepare(world)
            await rounds(world, 1)
            assert bodies(world) == FOUR
            second = stored(world, "t")[1]
            await cut(world, second.commit_log_offset + second.store_size)
            assert bodies(world) == FOUR
            await producer(world, COMMIT)
            await rounds(world, 3)
            assert (bodies(world), len(asked.requests)) == (FOUR, 1)

        run(scenario)

    def test_a_crash_while_the_rest_is_stored(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await prepare(world)
            await end(world, answer, COMMIT)
            for number in (0, 1, 2, 3):
                message = stored(world, "t")[number]
                await cut(world, message.commit_log_offset + message.store_size)
                assert bodies(world) == FOUR
            assert (await end(world, answer, COMMIT)).code == 604

        run(scenario)

    def test_a_message_that_only_looks_committed_closes_nothing(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, b"open")  # at log offset 0, which stands for "none" elsewhere
            await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02", sys_flag=8)
            await cut(world, world.store.max_offset)
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == [b"body", b"open"]

        run(scenario)
