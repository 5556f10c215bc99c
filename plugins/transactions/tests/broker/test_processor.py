"""Half messages and their ends, over the wire."""

from __future__ import annotations

from typing import Any

import pytest
from halves import (
    COMMIT,
    HALF,
    ROLLBACK,
    UNKNOWN,
    bodies,
    end,
    end_request,
    half,
    producer,
    rounds,
    stored,
)
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.broker.checker import TransactionChecker
from mqframe_transactions.broker.half_queue import HalfQueue
from mqframe_transactions.broker.processor import TransactionProcessor
from mqframe_transactions.settings import TransactionSettings

from mqframe.core.errors import Refusal
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame


def _fails(file: object) -> None:
    raise OSError(5, "Input/output error")


class TestHalves:
    async def test_nobody_sees_a_half(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
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

    async def test_a_message_that_only_has_the_word_is_ordinary(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            await world.client.ok_send("t", "UNIQ_KEY\x01U\x02TRAN_MSG\x01false\x02")
            await world.client.ok_send("t", "UNIQ_KEY\x01U\x02note\x01TRAN_MSG\x02")
            assert len(bodies(world)) == 2
            assert bodies(world, HALF_TOPIC) == []

    async def test_a_broker_may_take_none(self) -> None:
        async with ClusterScene(topics={"t": 2}, sections=[TransactionSettings(reject=True)]) as world:
            answer = await world.client.send("t", properties=HALF)
            assert (answer.code, answer.remark) == (16, "this broker takes no transactional messages")


class TestEnds:
    async def test_commit_delivers_rollback_does_not(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
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

    async def test_an_end_may_be_one_way(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world)
            await world.client.client.oneway(world.client.address, end_request(answer, COMMIT))
            await world.settle()
            assert bodies(world) == [b"body"]

    async def test_unknown_leaves_it_open(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world)
            assert (await end(world, answer, UNKNOWN)).code == 0
            assert bodies(world) == []
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == [b"body"]

    async def test_a_delay_begins_with_the_commit(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world, more="DELAY\x013\x02")
            assert bodies(world, SCHEDULE_TOPIC, 2) == []
            world.clock.advance(5)
            await end(world, answer, COMMIT)
            [waiting] = stored(world, SCHEDULE_TOPIC, 2)
            assert (waiting.properties["REAL_TOPIC"], waiting.properties["REAL_QID"]) == ("t", "0")
            assert bodies(world) == []
            await world.clock.aadvance(11)
            assert bodies(world) == [b"body"]

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
    async def test_wrong_ends_change_nothing(self, fields: dict[str, Any], code: int, words: str) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            await world.client.ok_send("t", "UNIQ_KEY\x01X\x02")
            answer = await half(world)
            for outcome in (COMMIT, ROLLBACK):
                refused = await end(world, answer, **({"outcome": outcome} | renamed(fields)))
                assert refused.code == code
                assert words in (refused.remark or "")
            assert bodies(world) == [b"body"]
            assert bodies(world, OP_HALF_TOPIC) == []
            assert (await end(world, answer, COMMIT)).code == 0
            assert len(bodies(world)) == 2

    async def test_an_offset_of_another_message_ends_nothing(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            plain = await world.client.ok_send("t", "UNIQ_KEY\x01X\x02PGROUP\x01p\x02")
            refused = await end(world, plain, COMMIT)
            assert (refused.code, bodies(world)) == (1, [b"body"])

    @pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
    @pytest.mark.parametrize("second", [COMMIT, ROLLBACK])
    async def test_whoever_ends_it_second_is_told(self, first: int, second: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world)
            assert (await end(world, answer, first)).code == 0
            delivered = bodies(world)
            refused = await end(world, answer, second)
            assert refused.code == 604
            assert refused.remark == "transaction U1 was committed, rolled back or discarded before"
            await rounds(world, 2)
            assert (await end(world, answer, second)).code == 604, "also when the offsets went past it"
            assert bodies(world) == delivered == [b"body"] * (first == COMMIT)

    async def test_an_end_past_its_immunity_waits_for_the_check(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            answer = await half(world, more="CHECK_IMMUNITY_TIME_IN_SECONDS\x0110\x02")
            world.clock.advance(10.001)
            refused = await end(world, answer, COMMIT)
            assert (refused.code, bodies(world)) == (604, [])
            asked.outcome = COMMIT
            await rounds(world, 1)
            assert bodies(world) == [b"body"]

    async def test_synchronous_flush_is_waited_for(self) -> None:
        async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
            answer = await half(world)
            assert (await end(world, answer, COMMIT)).code == 0
            assert world.store.log.confirmed_offset == world.store.log.max_offset
            assert bodies(world) == [b"body"]

    @pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK])
    async def test_an_end_that_does_not_reach_the_disk_is_no_success(
        self, monkeypatch: pytest.MonkeyPatch, outcome: Any
    ) -> None:
        async with ClusterScene(topics={"t": 2}, store={"flush": "SYNC_FLUSH"}) as world:
            answer = await half(world)
            with monkeypatch.context() as broken:
                broken.setattr("mqframe.store.files.log_file.LogFile.sync", _fails)
                first = await end(world, answer, outcome)
            assert (first.code, "not on disk in time" in first.remark) == (10, True)
            second = await end(world, answer, outcome)
            assert second.code == 10, "it was ended before, which the disk does not know either"
            assert bodies(world) == []

    async def test_a_rollback_that_cannot_be_stored_is_refused_and_stays_open(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world)
            world.store.refusals.durability.lost("commitlog/0", OSError(5, "Input/output error"))
            for _ in range(2):
                assert (await end(world, answer, ROLLBACK)).code == 14

    async def test_a_slave_refuses(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world)
            port = world.cluster.broker.service_port
            checker = TransactionChecker(port.clients, port.identity)
            slave = TransactionProcessor(HalfQueue(port), checker, port, is_master=lambda: False)
            request = end_request(answer, COMMIT)
            frame = Frame(request.CODE, 1, 0, None, encode_fields(request))
            with pytest.raises(Refusal) as caught:
                slave.end(request, Call(frame, Peerless(), 0.0))
            assert caught.value.code == 11


class TestIsolation:
    async def test_no_half_ends_another_or_takes_memory_by_what_its_sender_says(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            first = await half(world, b"first")
            for said in ("0", "9" * 18):
                stranger = await half(world, b"stranger", f"TRAN_PREPARED_QUEUE_OFFSET\x01{said}\x02")
                assert (await end(world, stranger, ROLLBACK)).code == 0
            assert (await end(world, first, COMMIT)).code == 0
            assert bodies(world) == [b"first"]

    @pytest.mark.parametrize("restart", [False, True])
    async def test_a_half_without_room_for_counts_is_asked_for_and_stops_no_check(
        self, restart: bool
    ) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            own = "MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
            noted = "__transactionId__\x01U1\x02REAL_TOPIC\x01t\x02REAL_QID\x010\x02"
            room = 32767 - len(HALF) - len(own) - len(noted) - 3
            await half(world, b"full", "a\x01" + "x" * room + "\x02")
            await half(world, b"other")
            if restart:
                await world.cluster.restart_broker()
                await world.disconnect(world.client)
            asked = await producer(world, COMMIT)
            await rounds(world, 2)
            assert sorted(each.body for each in asked.halves) == [b"full", b"other"]
            assert sorted(bodies(world)) == [b"full", b"other"]

    async def test_an_odd_error_with_one_half_stops_no_check_of_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask = TransactionChecker.ask

        def fail_for_one(self: Any, message: Any, *more: Any) -> bool:
            if message.body == b"odd":
                raise KeyError("odd")
            return ask(self, message, *more)

        monkeypatch.setattr(TransactionChecker, "ask", fail_for_one)

        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            for body in (b"odd", b"a", b"b"):
                await half(world, body)
            await rounds(world, 2)
            assert [each.body for each in asked.halves] == [b"a", b"b"] * 2
            newest = world.cluster.broker._state.left_out.messages.newest
            assert {(each.task, each.topic) for each in newest} == {("transactions", HALF_TOPIC)}


class Peerless:
    """As much of a connection as a refusal needs."""

    address = "127.0.0.1:1"


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {("outcome" if name == "commit_or_rollback" else name): value for name, value in fields.items()}
