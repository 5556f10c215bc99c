"""Half messages, their ends and their checks, over the wire."""

from __future__ import annotations

from typing import Any

import pytest

from mqframe.broker.check_backs import CheckBacks
from mqframe.broker.half_queue import HalfQueue
from mqframe.broker.identity import Identity
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.statistics import Statistics
from mqframe.broker.transactions import TransactionProcessor
from mqframe.core import properties as p
from mqframe.core.bodies import ConsumerOffsetTable
from mqframe.core.client_registry import ClientRegistry
from mqframe.core.errors import Refusal
from mqframe.core.frame import Frame
from mqframe.core.host import encode_host
from mqframe.core.loosejson import decode
from mqframe.core.message import ReceivedMessage
from mqframe.core.offset_table import OffsetTable
from mqframe.core.record import decode_record, decode_records
from mqframe.core.requests.admin import GetAllConsumerOffset, ResumeCheckHalfMessage
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.core.topic_table import TopicTable
from mqframe.core.topics import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.transaction_rules import CHECK_GROUP
from mqframe.net.call import Call
from mqframe.store.incoming import Incoming

HALF = "UNIQ_KEY\x01U1\x02TRAN_MSG\x01true\x02PGROUP\x01p\x02TAGS\x01red\x02WAIT\x01true\x02"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
INTERVAL = 30.0


def stored(world: Any, topic: str, queue_id: int = 0) -> list[ReceivedMessage]:
    found = world.store.get(topic, queue_id, 0, 1000)
    return [message for part in found.parts for message in decode_records(part)]


def bodies(world: Any, topic: str = "t", queue_id: int = 0) -> list[bytes]:
    return [message.body for message in stored(world, topic, queue_id)]


def end_request(answer: Frame, outcome: int, **fields: Any) -> EndTransaction:
    ext = answer.ext or {}
    values: dict[str, Any] = {
        "producer_group": "p",
        "tran_state_table_offset": int(ext["queueOffset"]),
        "commit_log_offset": int(ext["msgId"][-16:], 16),
        "commit_or_rollback": outcome,
        "msg_id": ext["transactionId"],
        "transaction_id": ext["transactionId"],
    }
    return EndTransaction(**(values | fields))


async def half(world: Any, body: bytes = b"body", more: str = "", **fields: Any) -> Frame:
    fields = {"born_timestamp": world.clock.now_ms(), "sys_flag": 4, **fields}
    answer: Frame = await world.talker.send("t", body, HALF + more, **fields)
    assert answer.code == 0, answer.remark
    return answer


async def end(world: Any, answer: Frame, outcome: int, **fields: Any) -> Frame:
    done: Frame = await world.talker.invoke(end_request(answer, outcome, **fields))
    return done


class Asked:
    """A producer that answers check-backs with `outcome`, or not at all."""

    def __init__(self, talker: Any, outcome: int | None = None) -> None:
        self.talker = talker
        self.outcome = outcome
        self.requests: list[CheckTransactionState] = []
        self.halves: list[ReceivedMessage] = []
        talker.client.serve(39, self.check)

    def check(self, call: Call) -> None:
        fields = call.fields(CheckTransactionState)
        self.requests.append(fields)
        self.halves.append(decode_record(bytes(call.frame.body)))
        if self.outcome is not None:
            call.peer.oneway(
                EndTransaction(
                    producer_group=self.halves[-1].properties["PGROUP"],
                    tran_state_table_offset=fields.tran_state_table_offset,
                    commit_log_offset=fields.commit_log_offset,
                    commit_or_rollback=self.outcome,
                    msg_id=fields.msg_id or "",
                    from_transaction_check=True,
                )
            )


async def producer(world: Any, outcome: int | None = None, **beat: Any) -> Asked:
    talker = world.join() if beat else world.talker
    asked = Asked(talker, outcome)
    await talker.beat("", producers=["p"], **beat)
    return asked


async def rounds(world: Any, count: int) -> None:
    for _ in range(count):
        await world.clock.aadvance(INTERVAL)


async def cursors(world: Any) -> tuple[Any, ...]:
    answer = await world.talker.ok(GetAllConsumerOffset())
    table = decode(memoryview(answer.body), ConsumerOffsetTable).offset_table
    return tuple(table.get(f"{topic}@{CHECK_GROUP}", {}).get(0) for topic in (HALF_TOPIC, OP_HALF_TOPIC))


class TestHalves:
    def test_nobody_sees_a_half(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, queue_id=1, flag=7)
            assert answer.ext["queueId"] == "1", "the sender is told the queue that it chose"
            assert answer.ext["transactionId"] == "U1"
            assert bodies(world) == bodies(world, "t", 1) == []
            [message] = stored(world, HALF_TOPIC)
            assert (message.body, message.flag, message.sys_flag) == (b"body", 7, 0)
            assert message.properties | {
                "REAL_TOPIC": "t", "REAL_QID": "1", "__transactionId__": "U1", "TRAN_MSG": "true",
                "UNIQ_KEY": "U1", "TAGS": "red", "PGROUP": "p",
            } == message.properties  # fmt: skip
            assert int(answer.ext["msgId"][-16:], 16) == message.commit_log_offset

        run(scenario)

    def test_a_message_that_only_has_the_word_is_ordinary(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            await world.talker.ok_send("t", "UNIQ_KEY\x01U\x02TRAN_MSG\x01false\x02")
            await world.talker.ok_send("t", "UNIQ_KEY\x01U\x02note\x01TRAN_MSG\x02")
            assert len(bodies(world)) == 2
            assert bodies(world, HALF_TOPIC) == []

        run(scenario)

    def test_a_broker_may_take_none(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await world.talker.send("t", properties=HALF)
            assert (answer.code, answer.remark) == (16, "this broker takes no transactional messages")

        run(scenario, broker={"reject_transactions": True})


class TestEnds:
    def test_commit_delivers_rollback_does_not(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            first = await half(world, b"one", queue_id=1, flag=3)
            second = await half(world, b"two")
            world.clock.advance(2)
            assert (await end(world, first, COMMIT)).code == 0
            assert (await end(world, second, ROLLBACK)).code == 0
            await world.settle()
            [message] = stored(world, "t", 1)
            assert (message.body, message.flag, message.sys_flag, message.tag) == (b"one", 3, 8, "red")
            assert message.prepared_transaction_offset == int(first.ext["msgId"][-16:], 16)
            assert message.properties["TRAN_MSG"] == "true", (
                "clients take the transaction id when they see it"
            )
            assert message.born_timestamp == 1_700_000_000_000
            assert bodies(world) == []
            ops = stored(world, OP_HALF_TOPIC)
            assert [(op.body, op.tag, op.properties) for op in ops] == [
                (b"0", "d", {"WAIT": "true", "TAGS": "d"}),
                (b"1", "d", {"WAIT": "true", "TAGS": "d"}),
            ]

        run(scenario)

    def test_an_end_may_be_one_way(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world)
            await world.talker.client.oneway(world.talker.address, end_request(answer, COMMIT))
            await world.settle()
            assert bodies(world) == [b"body"]

        run(scenario)

    def test_unknown_leaves_it_open(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world)
            assert (await end(world, answer, UNKNOWN)).code == 0
            assert bodies(world) == []
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == [b"body"]

        run(scenario)

    def test_a_delay_begins_with_the_commit(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world, more="DELAY\x013\x02")
            assert bodies(world, SCHEDULE_TOPIC, 2) == []
            world.clock.advance(5)
            await end(world, answer, COMMIT)
            [waiting] = stored(world, SCHEDULE_TOPIC, 2)
            assert (waiting.properties["REAL_TOPIC"], waiting.properties["REAL_QID"]) == ("t", "0")
            assert bodies(world) == []
            await world.clock.aadvance(11)
            assert bodies(world) == [b"body"]

        run(scenario)

    @pytest.mark.parametrize(
        ("fields", "code", "words"),
        [
            ({"producer_group": "stranger"}, 1, "of producer group p, not of the sender's"),
            ({"tran_state_table_offset": 7}, 1, "has queue offset 0, not 7"),
            ({"commit_log_offset": 3}, 1, "no half message begins at commit-log offset 3"),
            ({"commit_log_offset": 1 << 40}, 1, "no half message begins"),
            ({"commit_log_offset": -5}, 1, "no half message begins"),
            ({"commit_or_rollback": 5}, 1, "commitOrRollback is 5"),
        ],
    )
    def test_wrong_ends_change_nothing(self, run: Any, fields: dict[str, Any], code: int, words: str) -> None:
        async def scenario(world: Any) -> None:
            await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02")
            answer = await half(world)
            for outcome in (COMMIT, ROLLBACK):
                refused = await end(world, answer, **({"outcome": outcome} | renamed(fields)))
                assert refused.code == code
                assert words in (refused.remark or "")
            assert bodies(world) == [b"body"]
            assert bodies(world, OP_HALF_TOPIC) == []
            assert (await end(world, answer, COMMIT)).code == 0
            assert len(bodies(world)) == 2

        run(scenario)

    def test_an_offset_of_another_message_ends_nothing(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            plain = await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02PGROUP\x01p\x02")
            refused = await end(world, plain, COMMIT)
            assert (refused.code, bodies(world)) == (1, [b"body"])

        run(scenario)

    @pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
    @pytest.mark.parametrize("second", [COMMIT, ROLLBACK])
    def test_whoever_ends_it_second_is_told(self, run: Any, first: int, second: int) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world)
            assert (await end(world, answer, first)).code == 0
            delivered = bodies(world)
            refused = await end(world, answer, second)
            assert refused.code == 604
            assert refused.remark == "transaction U1 was committed, rolled back or discarded before"
            await rounds(world, 2)
            assert (await end(world, answer, second)).code == 604, "also when the offsets went past it"
            assert bodies(world) == delivered == [b"body"] * (first == COMMIT)

        run(scenario)

    def test_an_end_past_its_immunity_waits_for_the_check(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            answer = await half(world, more="CHECK_IMMUNITY_TIME_IN_SECONDS\x0110\x02")
            world.clock.advance(10.001)
            refused = await end(world, answer, COMMIT)
            assert (refused.code, bodies(world)) == (604, [])
            asked.outcome = COMMIT
            await rounds(world, 1)
            assert bodies(world) == [b"body"]

        run(scenario)

    def test_synchronous_flush_is_waited_for(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world)
            assert (await end(world, answer, COMMIT)).code == 0
            assert world.store.confirmed_offset == world.store.max_offset
            assert bodies(world) == [b"body"]

        run(scenario, store={"flush": "SYNC_FLUSH"})

    def test_a_slave_refuses(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            answer = await half(world)
            clock, settings = world.clock, BrokerSettings()
            slave = TransactionProcessor(
                HalfQueue(world.store, OffsetTable(clock), Unused(), clock),  # type: ignore[arg-type]
                CheckBacks(ClientRegistry(clock), Identity(settings)), TopicTable(clock),
                LiveSettings(settings), clock, Statistics(clock), 1, is_master=lambda: False,
            )  # fmt: skip
            frame = Frame(37, 1, 0, None, encode_fields(end_request(answer, COMMIT)))
            with pytest.raises(Refusal) as caught:
                slave.handlers()[37](Call(frame, Peerless(), 0.0))  # type: ignore[arg-type]
            assert caught.value.code == 11

        run(scenario)


class Peerless:
    """As much of a connection as a refusal needs."""

    address = "127.0.0.1:1"


class Unused:
    """An inlet that nothing may come through."""


class TestChecks:
    def test_a_producer_is_asked_and_its_word_counts(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world, COMMIT)
            answer = await half(world, queue_id=1)
            await rounds(world, 1)
            [request] = asked.requests
            [copy] = [m for m in stored(world, HALF_TOPIC) if m.queue_offset == 1]
            assert request == CheckTransactionState(
                tran_state_table_offset=1, commit_log_offset=copy.commit_log_offset, topic=HALF_TOPIC,
                msg_id="U1", transaction_id="U1", offset_msg_id=copy.offset_message_id, bname="broker-a",
            )  # fmt: skip
            [shown] = asked.halves
            assert (shown.topic, shown.queue_id, shown.body) == ("t", 1, b"body")
            assert (shown.queue_offset, shown.commit_log_offset) == (1, copy.commit_log_offset)
            assert shown.properties[p.CHECK_TIMES] == copy.properties[p.CHECK_TIMES] == "1"
            assert (shown.born_timestamp, shown.sys_flag) == (1_700_000_000_000, 0)
            assert bodies(world, "t", 1) == [b"body"]
            [delivered] = stored(world, "t", 1)
            assert p.PREPARED_QUEUE_OFFSET not in delivered.properties
            await rounds(world, 2)
            assert len(asked.requests) == 1
            assert (await end(world, answer, COMMIT)).code == 604, "the sender's own end came after it"
            assert await cursors(world) == (2, 1)

        run(scenario)

    def test_nobody_is_asked_about_what_ended_or_is_young(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world, COMMIT)
            answer = await half(world, b"done")
            await end(world, answer, ROLLBACK)
            await world.clock.aadvance(INTERVAL - 5)
            await half(world, b"young")
            await world.clock.aadvance(5)
            assert (asked.requests, await cursors(world)) == ([], (1, 1))
            await rounds(world, 1)
            assert [half.body for half in asked.halves] == [b"young"]

        run(scenario)

    def test_late_ends_of_any_copy_end_the_transaction_once(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            answer = await half(world)
            await rounds(world, 3)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "3"]
            assert (await end(world, answer, COMMIT)).code == 0, "the sender itself, after three checks"
            asked.outcome = COMMIT
            for request in asked.requests:
                refused = await world.talker.invoke(
                    EndTransaction(
                        "p", request.tran_state_table_offset, request.commit_log_offset, COMMIT, "U1"
                    )
                )
                assert refused.code == 604
            await rounds(world, 3)
            assert bodies(world) == [b"body"]
            assert len(asked.requests) == 3
            assert bodies(world, OP_HALF_TOPIC) == [b"3"]

        run(scenario)

    def test_fifteen_checks_then_it_is_discarded(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            answer = await half(world)
            await rounds(world, 15)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == [str(n) for n in range(1, 16)]
            assert bodies(world, CHECK_MAX_TIME_TOPIC) == []
            await rounds(world, 3)
            assert len(asked.requests) == 15
            [discarded] = stored(world, CHECK_MAX_TIME_TOPIC)
            assert (discarded.body, discarded.properties["REAL_TOPIC"]) == (b"body", "t")
            assert (await end(world, answer, COMMIT)).code == 604
            assert (bodies(world), await cursors(world)) == ([], (16, 1))

        run(scenario, broker={"client_silent_ms": 100_000_000})

    def test_past_the_time_that_files_are_kept_nobody_is_asked(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            patient = f"CHECK_IMMUNITY_TIME_IN_SECONDS\x01{80 * 3600}\x02"
            then = world.clock.now_ms() - 72 * 3_600_000
            await half(world, b"old", patient, born_timestamp=then)
            await half(world, b"nearly", patient, born_timestamp=then + 40_000)
            await rounds(world, 1)
            assert bodies(world, CHECK_MAX_TIME_TOPIC) == [b"old"]
            await rounds(world, 1)
            assert bodies(world, CHECK_MAX_TIME_TOPIC) == [b"old", b"nearly"]
            assert (asked.requests, len(bodies(world, HALF_TOPIC))) == ([], 2)

        run(scenario)

    def test_immunity_is_kept_and_holds_nobody_up(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            await half(world, b"patient", "CHECK_IMMUNITY_TIME_IN_SECONDS\x01100\x02")
            await half(world, b"plain")
            await half(world, b"odd", "CHECK_IMMUNITY_TIME_IN_SECONDS\x01soon\x02")
            await rounds(world, 3)
            assert [half.body for half in asked.halves] == [b"plain", b"odd"] * 3
            await rounds(world, 1)
            assert sorted(half.body for half in asked.halves[6:]) == [b"odd", b"patient", b"plain"]
            patient = [half for half in asked.halves if half.body == b"patient"]
            assert [half.properties[p.CHECK_TIMES] for half in patient] == ["1"]

        run(scenario)

    def test_any_member_of_the_group_may_answer(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            other = await producer(world, COMMIT, client_id="c2")
            first = await producer(world)
            await half(world)
            await world.talker.client.close()
            await world.settle()
            await rounds(world, 1)
            assert (len(other.requests), first.requests) == (1, [])
            assert bodies(world) == [b"body"]

        run(scenario)

    def test_producers_are_asked_in_turn(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            one, two = await producer(world), await producer(world, client_id="c2")
            for _ in range(4):
                await half(world)
            await rounds(world, 1)
            assert (len(one.requests), len(two.requests)) == (2, 2)

        run(scenario)

    def test_a_check_goes_on_after_the_disk_was_full(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world, COMMIT)
            answer = await half(world)
            real = world.store.put

            def full(incoming: Incoming) -> Any:
                raise Refusal(14, "the disk is full")

            world.store.put = full
            assert (await end(world, answer, COMMIT)).code == 14
            await rounds(world, 1)
            assert asked.requests == []
            world.store.put = real
            await rounds(world, 1)
            assert bodies(world) == [b"body"]

        run(scenario)


class TestRestarts:
    @pytest.mark.parametrize("killed", [True, False])
    def test_what_was_open_is_open_and_what_ended_has_ended(self, run: Any, killed: bool) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            answers = [await half(world, body) for body in (b"committed", b"rolled back", b"open", b"late")]
            await rounds(world, 1)
            assert len(asked.requests) == 4
            await end(world, answers[0], COMMIT)
            await end(world, answers[1], ROLLBACK)
            await (world.cluster.kill_broker() if killed else world.cluster.stop_broker())
            await world.cluster.start_broker()
            asked.requests.clear()
            asked.halves.clear()
            await producer(world, None)
            assert (await end(world, answers[0], COMMIT)).code == 604
            assert (await end(world, answers[1], COMMIT)).code == 604
            assert (await end(world, answers[3], COMMIT)).code == 0
            asked = Asked(world.talker, COMMIT)
            await rounds(world, 2)
            assert [half.body for half in asked.halves] == [b"open"]
            assert bodies(world) == [b"committed", b"late", b"open"]

        run(scenario)

    def test_ops_of_newer_brokers_are_read(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            await producer(world)
            for number in range(5):
                await half(world, b"%d" % number)
            host = encode_host("127.0.0.1:1")
            for body, tags in ((b"0,2,", "d"), (b"3", "d"), (b"4", "x"), (b"", "d"), (b"x,99,", "d")):
                text = p.encode_properties({"TAGS": tags})
                world.store.put(Incoming(OP_HALF_TOPIC, 0, body, text, 0, host, host))
            world.store.dispatch()
            await world.cluster.restart_broker()
            asked = await producer(world)
            await rounds(world, 1)
            assert [half.body for half in asked.halves] == [b"1", b"4"]
            assert await cursors(world) == (5, 5)

        run(scenario)


class TestResume:
    def test_a_discarded_half_is_checked_again(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            await half(world)
            await rounds(world, 3)
            [discarded] = stored(world, CHECK_MAX_TIME_TOPIC)
            await world.talker.ok(ResumeCheckHalfMessage(discarded.offset_message_id))
            asked.outcome = COMMIT
            await rounds(world, 1)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "1"]
            assert bodies(world) == [b"body"]

        run(scenario, broker={"transaction_check_max": 2})

    def test_an_open_half_begins_anew(self, run: Any) -> None:
        async def scenario(world: Any) -> None:
            asked = await producer(world)
            answer = await half(world)
            await rounds(world, 2)
            await world.talker.ok(ResumeCheckHalfMessage(answer.ext["msgId"]))
            await rounds(world, 1)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "1"]
            await end(world, answer, COMMIT)
            refused = await world.talker.invoke(ResumeCheckHalfMessage(answer.ext["msgId"]))
            assert (refused.code, bodies(world)) == (604, [b"body"])

        run(scenario)

    @pytest.mark.parametrize("message_id", ["", "xyz", "F" * 32, "7F0000010000000000000000000000AA"])
    def test_what_is_no_half_is_refused(self, run: Any, message_id: str) -> None:
        async def scenario(world: Any) -> None:
            plain = await world.talker.ok_send("t", "UNIQ_KEY\x01X\x02")
            for wrong in (message_id, plain.ext["msgId"]):
                assert (await world.talker.invoke(ResumeCheckHalfMessage(wrong))).code == 1

        run(scenario)


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {("outcome" if name == "commit_or_rollback" else name): value for name, value in fields.items()}
