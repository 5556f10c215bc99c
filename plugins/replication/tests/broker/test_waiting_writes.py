"""Whatever a SYNC_MASTER stores is neither answered nor seen by readers before a slave has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from halves import COMMIT, HALF, end_request
from mqframe_pop.settings import PopSettings
from mqframe_replication.rules.stream import encode_report
from popping import pop_request, popped
from replicas import Pair, replication_metrics

from mqframe.broker.broker import Broker
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.names import dead_letter_topic
from mqframe.core.requests import Request
from mqframe.core.requests.admin import GetAllDelayOffset
from mqframe.core.requests.messages import (
    ConsumerSendMsgBack,
    PullMessage,
    RecallMessage,
    SendMessageV2,
    ViewMessageById,
)
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import loads


class Scene:
    """A master, and a slave that reports what the test says."""

    def __init__(self, pair: Pair, master: Broker) -> None:
        self.pair, self.master = pair, master
        self.writer: asyncio.StreamWriter

    async def follow(self) -> None:
        """A slave connects, and has all there is."""
        port = int((await self.pair.counters(self.master))["replicationPort"])
        _, self.writer = await asyncio.open_connection("127.0.0.1", port)
        await self.confirm()

    async def confirm(self, *, less: int = 0) -> None:
        """The slave has all there is, but for `less` bytes."""
        self.writer.write(encode_report(self.master.store.log.max_offset - less))
        await self.pair.settle()

    async def leave(self) -> None:
        self.writer.close()
        await self.pair.settle()

    def ask(self, request: Request, body: bytes = b"") -> asyncio.Task[Frame]:
        return asyncio.ensure_future(self.pair.invoke(self.master, request, body))

    async def ok(self, request: Request, body: bytes = b"") -> Frame:
        """Ask, with the slave having what that stores at once."""
        asked = self.ask(request, body)
        await self.pair.settle()
        await self.confirm()
        answer = await asked
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    async def waits(self, asked: asyncio.Task[Frame]) -> Frame:
        """The answer, which comes when the slave has all, and not before."""
        await self.pair.settle()
        assert not asked.done(), "no slave has it yet"
        await self.confirm(less=1)
        assert not asked.done(), "the slave lacks a byte"
        await self.confirm()
        assert asked.done(), "the slave has it"
        answer = await asked
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    async def seen(self, topic: str = "t", queue: int = 0) -> list[bytes]:
        answer = await self.pair.invoke(
            self.master,
            PullMessage(
                topic=topic, consumer_group="g", queue_id=queue, max_msg_nums=32, queue_offset=0, sys_flag=4,
                commit_offset=0, suspend_timeout_millis=0, sub_version=0, subscription="*",
            ),
        )  # fmt: skip
        return [message.body for message in decode_records(answer.body)] if answer.code == 0 else []


def send_request(properties: str = "", sys_flag: int = 0) -> SendMessageV2:
    return SendMessageV2(
        topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
        sys_flag=sys_flag, born_timestamp=1_700_000_000_000, flag=0, properties=properties,
    )  # fmt: skip


@asynccontextmanager
async def staged(tmp_path: Path, **options: Any) -> AsyncIterator[Scene]:
    async with Pair(tmp_path) as pair:
        pair.settings, pair.services = options.pop("broker", {}), tuple(options.pop("sections", ()))
        one = Scene(pair, await pair.start("master", "SYNC_MASTER", options.pop("store", None), **options))
        await one.follow()
        await one.ok(send_request("UNIQ_KEY\x01U0\x02"), b"first")
        yield one
        await one.leave()


def offset_of(answer: Frame) -> int:
    return int((answer.ext or {})["msgId"][-16:], 16)


async def test_a_send(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        asked = one.ask(send_request(), b"second")
        await one.pair.settle()
        assert await one.seen() == [b"first"]
        await one.waits(asked)
        assert await one.seen() == [b"first", b"second"]


async def test_a_batch(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        batch = b"".join(encode_element(body, b"") for body in (b"second", b"third"))
        request = send_request()
        request.batch = True
        asked = one.ask(request, batch)
        await one.pair.settle()
        assert await one.seen() == [b"first"]
        await one.waits(asked)
        assert await one.seen() == [b"first", b"second", b"third"]


async def test_a_half_message_and_its_end(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        half = await one.waits(one.ask(send_request(HALF, sys_flag=4), b"second"))
        end = one.ask(end_request(half, COMMIT))
        await one.pair.settle()
        assert await one.seen() == [b"first"]
        await one.waits(end)
        assert await one.seen() == [b"first", b"second"]


async def test_a_failed_message_that_is_handed_back(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        sent = await one.ok(send_request(), b"second")
        dead = dead_letter_topic("g")
        asked = one.ask(ConsumerSendMsgBack(offset_of(sent), "g", -1))
        await one.pair.settle()
        assert one.master.store.queues.max_offset(dead, 0) == 0
        await one.waits(asked)
        assert one.master.store.queues.max_offset(dead, 0) == 1


async def test_a_delayed_message_when_it_is_due(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        await one.waits(one.ask(send_request("DELAY\x011\x02"), b"delayed"))
        await one.pair.settle(1)
        assert one.master.store.log.max_offset > one.master.store.log.confirmed_offset
        await one.pair.settle(12)
        assert one.master.store.log.flushed_offset == one.master.store.log.max_offset
        assert await one.seen() == [b"first"]
        offsets = GetAllDelayOffset()
        assert loads(bytes((await one.ask(offsets)).body))["offsetTable"] == {}, (
            "a slave would not deliver it"
        )
        await one.confirm()
        assert await one.seen() == [b"first", b"delayed"]
        await one.pair.settle(2)
        assert loads(bytes((await one.ask(offsets)).body))["offsetTable"] == {"1": 1}


async def test_a_delayed_message_is_only_due_once_a_slave_has_it(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        asked = one.ask(send_request("DELAY\x011\x02"), b"delayed")
        await one.pair.settle(2.5)
        end = one.master.store.log.max_offset
        await one.confirm()
        assert (await asked).code == 0
        await one.pair.settle(0.1)
        assert one.master.store.log.max_offset > end
        await one.confirm()
        assert await one.seen() == [b"first", b"delayed"]


async def test_a_recall_and_what_the_timer_delivers(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        handles = []
        for name in (b"a", b"b"):
            properties = f"UNIQ_KEY\x01U{name.decode()}\x02TIMER_DELAY_SEC\x015\x02"
            sent = await one.waits(one.ask(send_request(properties), name))
            handles.append((sent.ext or {})["recallHandle"])
        recalled = one.ask(RecallMessage(topic="t", recall_handle=handles[0]))
        await one.waits(recalled)
        await one.pair.settle(10)
        assert one.master.store.log.max_offset > one.master.store.log.confirmed_offset, "one was delivered"
        assert await one.seen() == [b"first"]
        await one.confirm()
        assert await one.seen() == [b"first", b"b"]


async def test_a_pops_acknowledgement_and_a_longer_time(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        await one.ok(send_request("UNIQ_KEY\x01U1\x02"), b"second")
        unconfirmed = one.ask(send_request("UNIQ_KEY\x01U2\x02"), b"third")
        await one.pair.settle()
        first, second = popped(await one.ask(pop_request()))
        assert (first.body, second.body) == (b"first", b"second")
        await one.waits(unconfirmed)
        await one.waits(one.ask(first.hide(30_000)))
        await one.waits(one.ask(second.hide(30_000)))


async def test_the_end_of_a_pop_that_is_written_down(tmp_path: Path) -> None:
    async with staged(tmp_path, sections=[PopSettings(check_points_max=1)]) as one:
        await one.ok(send_request("UNIQ_KEY\x01U1\x02"), b"second")
        one_pop = popped(await one.ask(pop_request(max_msg_nums=1)))
        [second] = popped(await one.ask(pop_request(max_msg_nums=1)))
        await one.pair.settle()
        await one.confirm()
        assert one_pop[0].body != second.body
        await one.waits(one.ask(second.ack()))


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
async def test_what_takes_a_slave_too_long_is_told(tmp_path: Path, flush: str) -> None:
    async with staged(tmp_path, store={"flush": flush}) as one:
        sent = await one.ok(send_request(), b"second")
        asked = [
            one.ask(send_request(), b"third"),
            one.ask(ConsumerSendMsgBack(offset_of(sent), "g", -1)),
            one.ask(send_request("WAIT\x01false\x02"), b"fourth"),
        ]
        await one.pair.settle(2.9)
        assert [each.done() for each in asked] == [False, False, True]
        await one.pair.settle(0.3)
        answers = [await each for each in asked]
        assert [answer.code for answer in answers] == [12, 12, 0]
        assert answers[1].remark == "the copy was not copied in time: it may come twice"
        assert (answers[0].ext or {})["queueOffset"] == "2"
        assert await one.seen() == [b"first", b"second"], "nobody sees even what nobody waits for"
        await one.confirm()
        assert await one.seen() == [b"first", b"second", b"third", b"fourth"]


async def test_when_the_last_slave_leaves_those_who_wait_are_told_and_readers_see_all(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        asked = one.ask(send_request(), b"second")
        await one.pair.settle()
        assert await one.seen() == [b"first"]
        await one.leave()
        answer = await asked
        assert (answer.code, (answer.ext or {})["queueOffset"]) == (11, "1")
        assert await one.seen() == [b"first", b"second"]
        sent = await one.ask(send_request(), b"third")
        assert sent.code == 11
        back = await one.ask(ConsumerSendMsgBack(offset_of(sent), "g", -1))
        assert back.code == 0, "the lone master serves on"


async def test_with_fewer_than_the_least_nothing_is_taken_or_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Pair(tmp_path) as pair:
        master = await pair.start("master", "SYNC_MASTER", min_in_sync=2)
        assert told_of_refusals(caplog) == 1
        one = Scene(pair, master)
        answer = await one.ask(send_request(), b"refused")
        assert answer.code == 1
        assert str(answer.remark).startswith("in-sync replicas not enough: 1 of at least 2 brokers")
        assert master.refusal.startswith("in-sync replicas not enough")
        assert master.store.log.max_offset == 0
        await one.follow()
        sent = await one.ok(send_request(), b"first")
        asked = one.ask(send_request(), b"second")
        await pair.settle()
        await one.leave()
        assert (await asked).code == 11
        assert await one.seen() == [b"first"]
        refused = await one.ask(ConsumerSendMsgBack(offset_of(sent), "g", -1))
        assert (refused.code, str(refused.remark)[:27]) == (14, "in-sync replicas not enough")
        await one.follow()
        assert await one.seen() == [b"first", b"second"]
        assert master.refusal == ""
        assert told_of_refusals(caplog) == 2, "at the start, and when the slave left"
        await one.leave()


def told_of_refusals(caplog: pytest.LogCaptureFixture) -> int:
    return sum("no messages are taken" in record.getMessage() for record in caplog.records)


async def test_as_many_as_there_are_will_do_where_that_is_said(tmp_path: Path) -> None:
    async with staged(tmp_path, auto_in_sync=True) as one:
        await one.waits(one.ask(send_request(), b"second"))
        await one.leave()
        assert (await one.ask(send_request(), b"third")).code == 0
        assert await one.seen() == [b"first", b"second", b"third"]


async def test_every_slave_has_to_have_it_where_that_is_asked_for(tmp_path: Path) -> None:
    async with staged(tmp_path, all_acknowledge=True) as one:
        other = Scene(one.pair, one.master)
        await other.follow()
        assert (await one.pair.counters(one.master))["replicationInSync"] == "3"
        assert (await replication_metrics(one.master))["mqframe_replication_in_sync"] == {(): 3}
        asked = one.ask(send_request(), b"second")
        await one.pair.settle()
        await one.confirm()
        assert not asked.done()
        assert await one.seen() == [b"first"]
        await other.confirm()
        assert (await asked).code == 0
        await other.leave()


async def test_logs_are_compared_by_what_is_not_confirmed_too(tmp_path: Path) -> None:
    async with staged(tmp_path) as one:
        # A slave may have it, and ask before it ever reports that.
        asked = one.ask(send_request(), b"second")
        await one.pair.settle()
        at = one.master.store.log.confirmed_offset
        assert (await one.ask(ViewMessageById(at))).code == 1
        compared = await one.ask(ViewMessageById(at, mqframe_unconfirmed=True))
        assert decode_record(bytes(compared.body)).body == b"second"
        await one.waits(asked)
