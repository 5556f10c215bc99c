"""The broker in memory answers as a broker does, unless a script says otherwise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.core.cluster.client_bodies import ConsumerData, ConsumerList, HeartbeatData
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import PullFlag
from mqframe.core.consuming.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.errors import AnswerError, CallTimeout
from mqframe.core.requests import decode_fields
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    GetMaxOffset,
    GetMinOffset,
    HeartBeat,
    LockBatchMq,
    OffsetAnswer,
    QueryConsumerOffset,
    UnlockBatchMq,
    UpdateConsumerOffset,
)
from mqframe.core.requests.messages import PullAnswer, PullMessage
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.storage.record import decode_records
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame


def staged() -> tuple[ScriptedBroker, ManualClock]:
    clock = ManualClock()
    return ScriptedBroker(clock, {"orders": 2}), clock


def pull(
    offset: int, flags: int = 0, tags: str | None = None, commit: int = 0, most: int = 32
) -> PullMessage:
    return PullMessage("billing", "orders", 0, offset, most, flags, commit, 15_000, 0, tags)


def found(answer: Frame) -> list[tuple[int, bytes]]:
    return [(m.queue_offset, m.body) for m in decode_records(bytes(answer.body), "broker-a")]


def where(answer: Frame) -> tuple[int, int, int]:
    """The next offset to ask for, and the ends of the queue."""
    fields = decode_fields(answer.ext, PullAnswer)
    return fields.next_begin_offset, fields.min_offset, fields.max_offset


async def test_a_pull_finds_the_messages_from_its_offset_on() -> None:
    broker, _clock = staged()
    broker.put("orders", 0, b"a", b"b", b"c")
    answer = await broker.invoke(broker.address, pull(1, most=1))
    assert (answer.code, found(answer), where(answer)) == (0, [(1, b"b")], (2, 0, 3))
    end = await broker.invoke(broker.address, pull(3))
    assert (end.code, where(end)) == (19, (3, 0, 3))


async def test_a_pull_outside_of_the_queue_is_sent_to_its_nearer_end() -> None:
    broker, _clock = staged()
    broker.put("orders", 0, b"a", b"b", b"c")
    broker.cut("orders", 0, 2)
    for offset, next_offset in ((0, 2), (9, 3)):
        answer = await broker.invoke(broker.address, pull(offset))
        assert (answer.code, where(answer)) == (21, (next_offset, 2, 3))
    assert found(await broker.invoke(broker.address, pull(2))) == [(2, b"c")]
    least = await broker.invoke(broker.address, GetMinOffset("orders", 0))
    most = await broker.invoke(broker.address, GetMaxOffset("orders", 0))
    assert [decode_fields(each.ext, OffsetAnswer).offset for each in (least, most)] == [2, 3]


async def test_tags_are_filtered_and_what_matches_none_is_passed_over() -> None:
    broker, _clock = staged()
    broker.put("orders", 0, b"a", tag="paid")
    broker.put("orders", 0, b"b", tag="late")
    wanted = await broker.invoke(broker.address, pull(0, PullFlag.SUBSCRIPTION, "late"))
    assert (found(wanted), where(wanted)[0]) == ([(1, b"b")], 2)
    unwanted = await broker.invoke(broker.address, pull(0, PullFlag.SUBSCRIPTION, "refunded"))
    assert (unwanted.code, where(unwanted)[0]) == (20, 2)


async def test_a_pull_that_may_wait_is_answered_by_the_next_message() -> None:
    broker, clock = staged()
    waiting = asyncio.ensure_future(broker.invoke(broker.address, pull(0, PullFlag.SUSPEND)))
    await clock.aadvance(14.9)
    assert [each.queue_offset for each in broker.held_back] == [0]
    broker.put("orders", 1, b"other queue")
    assert len(broker.held_back) == 1
    broker.put("orders", 0, b"a")
    assert found(await waiting) == [(0, b"a")]
    assert broker.held_back == []


async def test_a_pull_waits_no_longer_than_it_says() -> None:
    broker, clock = staged()
    waiting = asyncio.ensure_future(broker.invoke(broker.address, pull(0, PullFlag.SUSPEND)))
    await clock.aadvance(15)
    assert (await waiting).code == 19
    assert broker.held_back == []


async def test_offsets_are_committed_by_requests_and_by_pulls() -> None:
    broker, _clock = staged()
    query = QueryConsumerOffset("billing", "orders", 0)
    assert (await broker.invoke(broker.address, query)).code == 22
    await broker.oneway(broker.address, UpdateConsumerOffset("billing", "orders", 0, 7))
    assert (await broker.invoke(broker.address, query)).ext == {"offset": "7"}
    await broker.invoke(broker.address, pull(0, PullFlag.COMMIT_OFFSET, commit=9))
    await broker.invoke(broker.address, pull(0, commit=1))
    assert (await broker.invoke(broker.address, query)).ext == {"offset": "9"}
    assert broker.offsets == {("billing", broker.queue("orders", 0)): 9}


async def test_members_are_who_sent_heartbeats_once_each() -> None:
    broker, _clock = staged()
    for client in ("c2", "c1", "c2"):
        body = loose_json.dumps(HeartbeatData(client, [ConsumerData("billing")]))
        await broker.invoke(broker.address, HeartBeat(), body)
    answer = await broker.invoke(broker.address, GetConsumerListByGroup("billing"))
    assert loose_json.decode(bytes(answer.body), ConsumerList).consumer_id_list == ["c2", "c1"]


async def test_a_queue_is_locked_by_one_client_until_that_gives_it_back() -> None:
    broker, _clock = staged()
    queue = QueueBody.of(broker.queue("orders", 0))

    async def ask(kind: Any, client: str) -> Frame:
        body = loose_json.dumps(LockBody(client_id=client, consumer_group="billing", mq_set=[queue]))
        return await broker.invoke(broker.address, kind(), body)

    async def locks(client: str) -> bool:
        answer = await ask(LockBatchMq, client)
        return bool(loose_json.decode(bytes(answer.body), LockAnswerBody).lock_ok_mq_set)

    assert [await locks("a"), await locks("b"), await locks("a")] == [True, False, True]
    await ask(UnlockBatchMq, "b")
    assert not await locks("b")
    await ask(UnlockBatchMq, "a")
    assert await locks("b")


async def test_routes_are_those_of_its_topics() -> None:
    broker, _clock = staged()
    answer = await broker.invoke(broker.nameserver, GetRouteinfoByTopic("orders"))
    [queues] = loose_json.decode(bytes(answer.body), TopicRouteData).queue_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.write_queue_nums) == ("broker-a", 2, 2)
    assert (await broker.invoke(broker.nameserver, GetRouteinfoByTopic("nothing"))).code == 17


async def test_scripts_come_first_in_their_order_and_for_their_kind_alone() -> None:
    broker, _clock = staged()
    asked = GetMaxOffset("orders", 0)
    own = Frame(0, flag=1, ext={"offset": "42"})
    broker.script(
        GetMaxOffset, AnswerError(24, "who are you", broker.address), CallTimeout("3 s"), lambda _: own
    )
    assert (await broker.invoke(broker.address, GetMinOffset("orders", 0))).code == 0
    refused = await broker.invoke(broker.address, asked)
    assert (refused.code, refused.remark) == (24, "who are you")
    with pytest.raises(CallTimeout):
        await broker.invoke(broker.address, asked)
    assert await broker.invoke(broker.address, asked) is own
    assert (await broker.invoke(broker.address, asked)).ext == {"offset": "0"}
    assert broker.sent(GetMaxOffset) == [asked] * 4
    assert len(broker.requests) == 5


async def test_closing_lets_waiting_pulls_go() -> None:
    broker, clock = staged()
    waiting = asyncio.ensure_future(broker.invoke(broker.address, pull(0, PullFlag.SUSPEND)))
    await clock.aadvance(1)
    await broker.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
