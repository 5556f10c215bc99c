"""Checks of halves that stay open, restarts, and an operator who has one checked again."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from broker.conftest import LocalStore
from halves import (
    COMMIT,
    INTERVAL,
    ROLLBACK,
    bodies,
    cursors,
    end,
    half,
    producer,
    rounds,
    stored,
)
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.broker.checker import TransactionChecker
from mqframe_transactions.settings import TransactionSettings

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.core.errors import ConnectionLost, Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.requests.admin import ResumeCheckHalfMessage
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.store.incoming import Incoming


class TestChecks:
    async def test_a_producer_is_asked_and_its_word_counts(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
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

    async def test_nobody_is_asked_about_what_ended_or_is_young(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world, COMMIT)
            answer = await half(world, b"done")
            await end(world, answer, ROLLBACK)
            await world.clock.aadvance(INTERVAL - 5)
            await half(world, b"young")
            await world.clock.aadvance(5)
            assert (asked.requests, await cursors(world)) == ([], (1, 1))
            await rounds(world, 1)
            assert [half.body for half in asked.halves] == [b"young"]

    async def test_late_ends_of_any_copy_end_the_transaction_once(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            answer = await half(world)
            await rounds(world, 3)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "3"]
            assert (await end(world, answer, COMMIT)).code == 0, "the sender itself, after three checks"
            asked.outcome = COMMIT
            for request in asked.requests:
                refused = await world.client.invoke(
                    EndTransaction(
                        "p", request.tran_state_table_offset, request.commit_log_offset, COMMIT, "U1"
                    )
                )
                assert refused.code == 604
            await rounds(world, 3)
            assert bodies(world) == [b"body"]
            assert len(asked.requests) == 3
            assert bodies(world, OP_HALF_TOPIC) == [b"3"]

    async def test_fifteen_checks_then_it_is_discarded(self) -> None:
        async with ClusterScene(topics={"t": 2}, broker={"client_silent_ms": 100_000_000}) as world:
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

    async def test_a_producer_whose_clock_is_wrong_loses_no_transaction(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            now = world.clock.now_ms()
            await half(world, b"old", born_timestamp=now - 73 * 3_600_000)
            await half(world, b"new", born_timestamp=now + 73 * 3_600_000)
            await world.clock.aadvance(5)
            assert asked.requests == []
            await rounds(world, 1)
            assert [half.body for half in asked.halves] == [b"old", b"new"]
            assert bodies(world, CHECK_MAX_TIME_TOPIC) == []

    @pytest.mark.parametrize("hours", [100, -100])
    async def test_setting_the_clock_asks_nobody_early_or_late_and_gives_nothing_up(self, hours: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            await half(world, b"before")
            world.clock.jump(hours * 3600)
            await half(world, b"while")
            await world.clock.aadvance(5)
            assert asked.requests == []
            await rounds(world, 1)
            world.clock.jump(-hours * 3600)
            await half(world, b"after")
            await rounds(world, 1)
            found = [half.body for half in asked.halves]
            assert (found[:2], found[-1]) == ([b"before", b"while"], b"after")
            assert bodies(world, CHECK_MAX_TIME_TOPIC) == []

    async def test_immunity_is_kept_and_holds_nobody_up(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
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

    async def test_immunity_does_not_hold_the_offsets_up_for_ever(self, monkeypatch: Any) -> None:
        monkeypatch.setattr("mqframe_transactions.broker.processor.BEHIND_MAX", 4)

        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            patient = await half(world, b"patient", "CHECK_IMMUNITY_TIME_IN_SECONDS\x01100\x02")
            for number in range(3):
                await end(world, await half(world, b"%d" % number), COMMIT)
            await rounds(world, 1)
            assert await cursors(world) == (0, 0), "not too many"
            await end(world, await half(world, b"3"), COMMIT)
            await rounds(world, 1)
            assert await cursors(world) == (5, 4)
            copy = stored(world, HALF_TOPIC)[5]
            assert (copy.body, copy.properties[p.PREPARED_QUEUE_OFFSET]) == (b"patient", "0")
            assert p.CHECK_TIMES not in copy.properties, "nobody was asked"
            await world.cluster.restart_broker()
            assert (await end(world, patient, COMMIT)).code == 0
            assert (await end(world, patient, COMMIT)).code == 604
            await rounds(world, 3)
            assert bodies(world) == [b"0", b"1", b"2", b"3", b"patient"]
            assert (asked.requests, await cursors(world)) == ([], (6, 5))

    async def test_any_member_of_the_group_may_answer(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            other = await producer(world, COMMIT, client_id="c2")
            first = await producer(world)
            await half(world)
            await world.client.client.close()
            await world.settle()
            await rounds(world, 1)
            assert (len(other.requests), first.requests) == (1, [])
            assert bodies(world) == [b"body"]

    async def test_producers_are_asked_in_turn(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            one, two = await producer(world), await producer(world, client_id="c2")
            for _ in range(4):
                await half(world)
            await rounds(world, 1)
            assert (len(one.requests), len(two.requests)) == (2, 2)

    async def test_many_are_checked_in_slices(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            for _ in range(100):
                await half(world)
            world.clock.advance(INTERVAL)
            seen = [100]
            while seen[-1] < 200:
                await asyncio.sleep(0)
                world.store.dispatch.now()
                seen.append(world.store.queues.max_offset(HALF_TOPIC, 0))
            steps = {after - before for before, after in pairwise(seen)} - {0}
            assert steps == {32, 4}, "others have their turn after every 32"
            await world.settle()
            assert len(asked.requests) == 100

    async def test_a_check_goes_on_after_the_disk_was_full(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world, COMMIT)
            answer = await half(world)
            real = world.store.writes.put

            def full(incoming: Incoming) -> Any:
                raise Refusal(14, "the disk is full")

            world.store.writes.put = full
            assert (await end(world, answer, COMMIT)).code == 14
            await rounds(world, 1)
            assert asked.requests == []
            world.store.writes.put = real
            await rounds(world, 1)
            assert bodies(world) == [b"body"]


class TestResume:
    async def test_a_discarded_half_is_checked_again(self) -> None:
        async with ClusterScene(topics={"t": 2}, sections=[TransactionSettings(check_max=2)]) as world:
            asked = await producer(world)
            await half(world)
            await rounds(world, 3)
            [discarded] = stored(world, CHECK_MAX_TIME_TOPIC)
            await world.client.ok(ResumeCheckHalfMessage(discarded.offset_message_id))
            asked.outcome = COMMIT
            await rounds(world, 1)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "1"]
            assert bodies(world) == [b"body"]

    async def test_an_open_half_begins_anew(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            answer = await half(world)
            await rounds(world, 2)
            await world.client.ok(ResumeCheckHalfMessage(answer.ext["msgId"]))
            await rounds(world, 1)
            assert [half.properties[p.CHECK_TIMES] for half in asked.halves] == ["1", "2", "1"]
            await end(world, answer, COMMIT)
            refused = await world.client.invoke(ResumeCheckHalfMessage(answer.ext["msgId"]))
            assert (refused.code, bodies(world)) == (604, [b"body"])

    @pytest.mark.parametrize("message_id", ["", "xyz", "F" * 32, "7F0000010000000000000000000000AA"])
    async def test_what_is_no_half_is_refused(self, message_id: str) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            plain = await world.client.ok_send("t", "UNIQ_KEY\x01X\x02")
            for wrong in (message_id, plain.ext["msgId"]):
                assert (await world.client.invoke(ResumeCheckHalfMessage(wrong))).code == 1


class Channel:
    """A producer's connection that notes what it is asked, or is lost."""

    def __init__(self, lost: bool) -> None:
        self.lost = lost
        self.asked = 0

    def oneway(self, request: CheckTransactionState, body: bytes) -> None:
        if self.lost:
            raise ConnectionLost("gone")
        self.asked += 1


async def test_the_one_producer_of_many_that_is_alive_is_asked(tmp_path: Path) -> None:
    async with LocalStore(tmp_path / "store") as local:
        stored = local.put(HALF_TOPIC, PGROUP="p", UNIQ_KEY="U1")
        channels = [Channel(lost=number != 5) for number in range(7)]
        clients = SimpleNamespace(producers={"p": dict.fromkeys(channels)})
        checker = TransactionChecker(clients, Identity(BrokerSettings()))  # type: ignore[arg-type]
        message = local.at(stored.commit_log_offset)
        assert all(checker.ask(message, stored, message.properties) for _ in range(20))
        assert channels[5].asked == 20
        channels[5].lost = True
        assert not checker.ask(message, stored, message.properties)
