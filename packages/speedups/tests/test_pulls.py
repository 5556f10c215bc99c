"""Pulls that go the shorter way are answered as on the longer one, and leave what they leave there."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from twins import (
    FIRST,
    LOG_BYTES,
    Found,
    Scene,
    Wire,
    batch,
    both,
    element,
    heartbeat,
    opened,
    pull,
    send,
    service_of,
)

from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import FLAG_ONEWAY, PullFlag, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame, FrameDecoder, HeaderForm, encode_frame
from mqframe.net.async_peer import AsyncPeer
from mqframe.store.files.log_file import LogFile
from mqframe.store.queues.consume_queue import ConsumeQueue

STORED = [heartbeat(1), *FIRST, *(send(10 + n, body=b"%d" % n * 9) for n in range(60)), batch(90, 40)]
"""A member that wants all messages, and 71 and 31 of them in the two queues of its topic."""
COMMITS = str(PullFlag.SUSPEND | PullFlag.COMMIT_OFFSET)


def frames(answers: bytes) -> dict[int, Frame]:
    """The answers by opaque."""
    decoder, found = FrameDecoder(), {}
    decoder.receive(answers)
    while (frame := decoder.next_frame()) is not None:
        found[frame.opaque] = frame
    return found


def frames_of(raw: bytes) -> list[Frame]:
    return list(frames(raw).values())


def offsets(found: Found, opaque: int) -> list[int]:
    """The queue offsets of the messages in the answer to one pull."""
    return [message.queue_offset for message in decode_records(frames(found.answers)[opaque].body)]


async def test_pulls_of_all_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*STORED, pull(100, 0), pull(101, 32) + pull(102, 0, 1) + pull(103, 5, 1, maxMsgNums=3)]
    found = await both(tmp_path, monkeypatch, reads)
    assert offsets(found, 100) == list(range(32))
    assert offsets(found, 103) == [5, 6, 7]
    assert frames(found.answers)[103].ext["nextBeginOffset"] == "8"
    assert offsets(found, 101) == list(range(32, 64))
    assert offsets(found, 102) == list(range(31)), "all that are there"
    assert found.given == 32 + 32 + 31 + 3
    assert found.counts["gets"]["consumers", "t"][:2] == (found.given, 4)


async def test_pulls_with_binary_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"form": HeaderForm.ROCKETMQ}
    reads = [*STORED, pull(100, 0, **form), pull(101, 32, **form) + pull(102, 0, 1) + pull(103, 5, 1, **form)]
    reads += [pull(104, 71, **form), pull(105, 31, 1, code=361, **form), send(106, e="0"), send(107, e="1")]
    commits = {"commitOffset": "70", "sysFlag": COMMITS}
    found = await both(tmp_path, monkeypatch, [*reads, pull(108, 40, **commits, **form)])
    assert [offsets(found, opaque) for opaque in (100, 101)] == [list(range(32)), list(range(32, 64))]
    assert [offsets(found, opaque) for opaque in (103, 104, 105)] == [list(range(5, 31)), [71], [31]]
    assert found.given == 32 + 32 + 31 + 26 + 1 + 1 + 32
    assert found.counts["offsets"][0]["t", "consumers"] == {0: 70}
    answers = frames(found.answers)
    assert {answers[opaque].form for opaque in (100, 102, 104)} == {HeaderForm.JSON}, "as Python answers"


async def test_pulls_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = {"mqframeBulk": "true", "maxMsgNums": "60"}
    reads = [*STORED, pull(100, 0, **bulk), pull(101, 60, **bulk), pull(102, 0, maxMsgNums="60")]
    found = await both(tmp_path, monkeypatch, reads)
    assert offsets(found, 100) == list(range(60))
    assert offsets(found, 101) == list(range(60, 71))
    assert offsets(found, 102) == list(range(32))
    assert found.given == 60 + 11 + 32


async def test_pulls_by_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [
        *STORED,
        heartbeat(2, "b", "c", subVersion=8),
        pull(100, 0),
        pull(101, 20),
        pull(102, 0, maxMsgNums=2),
    ]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.given == sum(len(offsets(found, opaque)) for opaque in (100, 101, 102)) > 20
    assert len(offsets(found, 102)) == 2
    assert {m.properties["TAGS"] for m in decode_records(frames(found.answers)[100].body)} == {"b"}


def by_number(wanted: str, version: int = 8) -> bytes:
    """The heartbeat of a member that subscribes by an expression."""
    return heartbeat(version, subString=wanted, expressionType="SQL92", subVersion=version, codeSet=[])


NUMBERED = [
    heartbeat(1),
    *FIRST,
    batch(3, [element(n, f"n\x01{n % 8}\x02UNIQ_KEY\x017F0000010009{n:08X}\x02") for n in range(200)]),
]
FILE_ENTRIES = 100
"""Of one file of a queue, which a read does not go beyond."""
SQL = {"broker": {"property_filter": True}}


@pytest.mark.parametrize("mapped", [0, 9000, 1 << 30])
async def test_pulls_by_an_expression(mapped: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And by another one, from the heartbeat on that names it."""
    pulls = [pull(100, 0, 1), pull(101, 70, 1, subVersion=8), pull(102, 0, 1, maxMsgNums=3)]
    reads = [*NUMBERED, by_number("n BETWEEN 3 AND 4"), b"".join(pulls), by_number("n = 5", 9)]
    reads += [
        pull(103, 0, 1, expressionType="SQL92"),
        pull(104, 0, 1, subVersion=10),
        heartbeat(10, subVersion=10),
    ]
    reads += [pull(105, 0, 1)]
    found = await both(tmp_path, monkeypatch, reads, store={"mapped_read_bytes": mapped}, **SQL)
    threes = [n for n in range(1, FILE_ENTRIES) if (n - 1) % 8 in (3, 4)]
    assert offsets(found, 100) == threes
    assert offsets(found, 101) == [n for n in threes if n >= 70]
    assert offsets(found, 102) == threes[:3]
    assert offsets(found, 103) == [n for n in range(1, FILE_ENTRIES) if (n - 1) % 8 == 5]
    assert frames(found.answers)[104].code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    assert offsets(found, 105) == list(range(32))
    assert found.given == sum(len(offsets(found, opaque)) for opaque in (100, 101, 102, 103, 105))


@pytest.mark.parametrize("wanted", [{"expressionType": "SQL92", "subString": "n = 99"}, {"codeSet": [5]}])
async def test_where_nothing_matches_the_next_pull_begins_behind_it(
    wanted: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"subString": "no", "tagsSet": ["no"], "codeSet": [], "subVersion": 8, **wanted}
    reads = [*NUMBERED, heartbeat(2, **fields), pull(100, 0, 1) + pull(101, 180, 1)]
    found = await both(tmp_path, monkeypatch, reads, store={"scan_entries_max": 50}, **SQL)
    answers = [frames(found.answers)[opaque] for opaque in (100, 101)]
    assert [each.code for each in answers] == [ResponseCode.PULL_RETRY_IMMEDIATELY] * 2
    assert [each.ext["nextBeginOffset"] for each in answers] == ["50", "200"]
    assert found.counts["found"] == (0, 0, 2)
    assert found.given == 0


async def test_who_waits_by_an_expression_gets_what_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbered(number: int) -> bytes:
        text = f"n\x01{number}\x02UNIQ_KEY\x017F000001000A{number:08X}\x02"
        return send(200 + number, properties=text, e="1")

    reads = [*NUMBERED, by_number("n > 4"), pull(100, 201, 1, subVersion=8), numbered(3), numbered(6)]
    found = await both(tmp_path, monkeypatch, reads, **SQL)
    assert offsets(found, 100) == [202]


async def test_records_of_the_last_run_are_looked_at_by_python(tmp_path: Path) -> None:
    """With what it checks of them."""
    async with opened(tmp_path, **SQL) as scene:
        await given(scene, *NUMBERED, by_number("n = 5"))
    async with opened(tmp_path, **SQL) as scene:
        await given(scene, heartbeat(1), by_number("n = 5"), pull(100, 0, 1))
        found = frames(scene.wire.written)[100]
        assert [m.queue_offset for m in decode_records(found.body)] == [
            n for n in range(1, FILE_ENTRIES) if (n - 1) % 8 == 5
        ]


async def test_a_pull_brings_an_offset_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*STORED, pull(100, 0, commitOffset=7, sysFlag=COMMITS), pull(101, 4, 1, sysFlag=COMMITS)]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.given == 32 + 27
    assert found.counts["offsets"][0]["t", "consumers"] == {0: 7, 1: 0}
    assert found.counts["offsets"][1]["t", "consumers"][0] == 32


async def test_limits_may_be_any_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = dict.fromkeys(("pull_messages_max", "pull_bytes_max"), 10**30)
    reads = [*STORED, pull(100, 0, maxMsgBytes=0), pull(101, 0, maxMsgBytes=0, maxMsgNums=8)]
    found = await both(tmp_path, monkeypatch, reads, broker=most)
    assert found.given == 32 + 8


async def test_sends_and_pulls_in_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = send(200) + pull(201, 0) + send(203) + send(202) + pull(204, 1) + pull(205, 3, 1) + send(206)
    found = await both(tmp_path, monkeypatch, [*STORED, read])
    assert list(frames(found.answers))[-7:] == [200, 201, 203, 202, 204, 205, 206]
    assert found.given == sum(len(offsets(found, opaque)) for opaque in (201, 204, 205))


async def test_answers_to_sends_that_wait_hold_no_pull_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pull(200, 0) + send(201) + pull(202, 0)
    found = await both(tmp_path, monkeypatch, [*STORED, read], store={"flush": "SYNC_FLUSH"})
    assert list(frames(found.answers))[-3:] == [200, 202, 201]


ODD: dict[str, bytes] = {
    "the end of the queue": pull(5, 5000),
    "before the beginning": pull(5, -1),
    "a queue that is not there": pull(5, 0, 2),
    "a queue with a large number": pull(5, 0, 10**12),
    "a topic that is not there": pull(5, 0, topic="nobody knows"),
    "a topic without messages": pull(5, 0, 3, topic="other"),
    "a topic that the group does not want": pull(5, 0, topic="third"),
    "a group without members": pull(5, 0, consumerGroup="others"),
    "the broker's own group": pull(5, 0, consumerGroup="%BROKER%x"),
    "a newer subscription": pull(5, 0, subVersion=8),
    "a subscription of its own": pull(5, 0, sysFlag=4, subscription="a"),
    "one in SQL": pull(5, 0, sysFlag=4, subscription="x > 1", expressionType="SQL92"),
    "a commit behind the end": pull(5, 0, commitOffset=10**6, sysFlag=COMMITS),
    "a negative commit": pull(5, 0, commitOffset=-1, sysFlag=COMMITS),
    "a lite pull": pull(5, 0, code=361),
    "many at once": pull(5, 0, mqframeBulk="true"),
    "no number of messages": pull(5, 0, maxMsgNums=0),
    "few bytes": pull(5, 0, maxMsgBytes=300),
    "fewer bytes than one has": pull(5, 0, maxMsgBytes=1),
    "one-way": pull(5, 0, flag=FLAG_ONEWAY),
    "a binary header": pull(5, 0, form=HeaderForm.ROCKETMQ),
    "a body": pull(5, 0, body=b"x"),
    "a field that is missing": pull(5, 0, subVersion=None),
    "an offset that is missing": pull(5, 0, queueOffset=None),
    "a number that is none": pull(5, 0, maxMsgNums="many"),
    "an offset that is none": pull(5, 0, queueOffset="x"),
    "an offset with a zero before it": pull(5, 0, queueOffset="01"),
    "an offset with a blank": pull(5, 0, queueOffset=" 1"),
    "an offset of more than 64 bits": pull(5, 0, queueOffset="9" * 30),
    "an offset of 18 digits": pull(5, 0, queueOffset="9" * 18),
    "a field with a quote": pull(5, 0, unknown='","queueOffset":"7'),
    "a field called opaque": pull(5, 0, opaque="9"),
    "a long field": pull(5, 0, unknown="x" * 5000),
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_is_odd_ends_as_ever_and_what_follows_goes_on(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*STORED, pull(11, 0) + ODD[odd] + pull(12, 1), ODD[odd], ODD[odd], pull(13, 2)]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.given >= 64
    assert offsets(found, 11) == list(range(32))
    assert offsets(found, 13) == list(range(2, 34))


def twice(frame: bytes, name: bytes) -> bytes:
    """The same pull with a field two times: the last one counts."""
    old = b'"%b":"0"' % name
    assert frame.count(old) == 1
    longer = frame[8:].replace(old, b'"%b":"3",' % name + old)
    return (len(longer) + 4).to_bytes(4, "big") + len(longer).to_bytes(4, "big") + longer


async def test_a_field_that_stands_there_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*STORED, *(twice(pull(100 + n, 0), b"queueOffset") for n in range(3))]
    found = await both(tmp_path, monkeypatch, reads)
    assert offsets(found, 102) == list(range(32))
    assert found.given == 0


async def test_pulls_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"".join(pull(100 + n, n % 20, n % 2, maxMsgNums=1 + n % 5) for n in range(40))
    chance = random.Random(7)
    cuts = sorted(chance.sample(range(1, len(whole)), 25))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found = await both(tmp_path, monkeypatch, [*STORED, *pieces])
    assert found.given == sum(len(offsets(found, 100 + n)) for n in range(40)) == 120


@pytest.mark.parametrize("mapped", [0, 3000, 9000, 15_000])
@pytest.mark.parametrize("tags", [[], ["b", "c"]])
async def test_records_that_are_copied(
    mapped: int, tags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, or those that lie too far before the end of the log, in the same answer too."""
    reads = [*STORED, heartbeat(2, *tags, subVersion=8), *(pull(100 + n, 7 * n, n % 2) for n in range(8))]
    found = await both(tmp_path, monkeypatch, reads, store={"mapped_read_bytes": mapped})
    assert found.given == sum(len(offsets(found, 100 + n)) for n in range(8)) > 60


async def test_copied_records_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = ["t", "other", "t"]
    sends = [send(10 + n, topics[n % 3], b"%d" % n * 400, e="0") for n in range(400)]
    reads = [heartbeat(1), *FIRST, b"".join(sends[:200]), b"".join(sends[200:])]
    reads += [pull(500 + n, 15 * n, topic=topic) for topic in ("t", "other") for n in range(8)]
    found = await both(tmp_path, monkeypatch, reads, store={"mapped_read_bytes": 200_000})
    assert len(found.log) > 6 * LOG_BYTES
    assert found.given == found.counts["found"][0] > 400


async def test_a_read_that_would_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, store={"mapped_read_bytes": 0}) as scene:
        await given(scene, *STORED)
        monkeypatch.setattr(LogFile, "read_now", lambda file, at, size: None)
        scene.wire.written = b""
        await given(scene, pull(100, 0))
        while not scene.wire.written:  # a thread reads
            await asyncio.sleep(0)
        answer = frames(scene.wire.written)[100]
        assert [m.queue_offset for m in decode_records(answer.body)] == list(range(32))
        assert counters(scene)["speedups.pulls"] == "0"


async def test_old_records_beyond_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = {"cold_pull_messages_max": 4}
    found = await both(
        tmp_path,
        monkeypatch,
        [*STORED, pull(100, 0), pull(101, 60)],
        store={"hot_bytes": 4096},
        broker=broker,
    )
    assert offsets(found, 100) == [0, 1, 2, 3]
    assert found.given == len(offsets(found, 101)) > 0


async def test_many_bytes_of_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = [heartbeat(1), *FIRST, b"".join(send(10 + n, body=b"x" * 2000, e="0") for n in range(130))]
    read = b"".join(pull(200 + n, 22 * n, maxMsgBytes=50_000) for n in range(4))
    found = await both(tmp_path, monkeypatch, [*stored, read])
    assert [len(offsets(found, 200 + n)) for n in range(4)] == [23, 22, 22, 22]
    assert found.given == 67, "128 KiB and more leave before the next one is served"


async def test_an_operator_resets_an_offset(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        await given(scene, *STORED, pull(100, 0))
        port = scene.broker.service_port
        port.offsets.reset("consumers", "t", 0, 3)
        scene.wire.written = b""
        await given(scene, pull(101, 32), pull(102, 3))
        answers = frames(scene.wire.written)
        assert (answers[101].code, answers[101].ext["nextBeginOffset"]) == (21, "3")
        assert [m.queue_offset for m in decode_records(answers[102].body)] == list(range(3, 35))
        assert counters(scene)["speedups.pulls"] == "64"


async def given(scene: Scene, *reads: bytes) -> None:
    for read in reads:
        scene.peer.data_received(read)
        await scene.settle()


def counters(scene: Scene) -> dict[str, str]:
    return dict(service_of(scene.broker).counters())


async def test_what_is_changed_meanwhile_counts(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        port = scene.broker.service_port
        await given(scene, *STORED, pull(100, 0))
        scene.wire.written = b""
        topic = port.topics.find("t")
        assert topic is not None
        port.topics.put(type(topic)(topic_name="t", read_queue_nums=1, write_queue_nums=2, topic_sys_flag=5))
        await given(scene, pull(101, 0), pull(102, 0, 1), heartbeat(3, "b", subVersion=8), pull(103, 0))
        port.topics.put(type(topic)(topic_name="t", read_queue_nums=2, write_queue_nums=2, perm=2))
        await given(scene, pull(104, 0))
        answers = frames(scene.wire.written)
        assert {opaque: answers[opaque].code for opaque in answers} == {
            101: 0,
            102: 29,
            3: 0,
            103: 0,
            104: 16,
        }
        assert answers[101].ext["topicSysFlag"] == "5"
        assert {m.properties["TAGS"] for m in decode_records(answers[103].body)} == {"b"}


Change = Callable[[BrokerState], object]


def member(**fields: object) -> bytes:
    """A heartbeat of the same member that says something else of its group."""
    frame = frames_of(heartbeat(2))[0]
    body = json.loads(bytes(frame.body))
    body["consumerDataSet"][0] |= fields
    return encode_frame(Frame(34, 2, 0, None, {}, json.dumps(body).encode(), "JAVA", 479))


CHANGES: dict[str, Sequence[Change | bytes]] = {
    "the broker's permission": [lambda state: state.live.change("brokerPermission=2")],
    "fewer messages at once": [lambda state: state.live.change("maxTransferCountOnMessageInMemory=3")],
    "the topic's permission": [lambda state: state.topics.put(TopicConfig(topic_name="t", perm=2))],
    "a topic without queues": [
        lambda state: state.topics.put(TopicConfig(topic_name="t", read_queue_nums=0))
    ],
    "a topic that goes": [lambda state: state.topics.remove("t")],
    "a group that may not consume": [
        lambda state: state.groups.put(SubscriptionGroupConfig("consumers", consume_enable=False))
    ],
    "a group that another broker suits": [
        lambda state: state.groups.put(
            SubscriptionGroupConfig("consumers", which_broker_when_consume_slowly=3, group_sys_flag=9)
        )
    ],
    "a group that may not read the topic": [lambda state: state.groups.forbid("consumers", "t", True)],
    "and may again": [
        lambda state: state.groups.forbid("consumers", "t", True),
        pull(99, 0),
        lambda state: state.groups.forbid("consumers", "t", False),
    ],
    "a group that goes": [lambda state: state.groups.remove("consumers")],
    "members of which each gets all": [
        lambda state: state.groups.put(SubscriptionGroupConfig("consumers", consume_broadcast_enable=False)),
        member(messageModel="BROADCASTING"),
    ],
    "other topics": [member(subscriptionDataSet=[])],
    "another tag": [heartbeat(2, "b", subVersion=8)],
    "a filter of records": [
        heartbeat(2, subVersion=8, expressionType="SQL92", subString="TAGS = 'b'"),
    ],
    "no member": [lambda state: state.clients.drop(next(iter(state.clients.consumers["consumers"].members)))],
    "another member of the same name": [
        lambda state: state.clients.drop(next(iter(state.clients.consumers["consumers"].members))),
        heartbeat(2, "b"),
    ],
}


async def changed(scene: Scene, change: str) -> None:
    for step in CHANGES[change]:
        if isinstance(step, bytes):
            await given(scene, step)
        else:
            step(scene.broker.service_port)


@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_changed_between_two_pulls_counts_for_the_second(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = []
    for way in ("1", "0"):
        monkeypatch.setenv("MQFRAME_SPEEDUPS", way)
        async with opened(tmp_path / way) as scene:
            await given(scene, *STORED, pull(100, 0), pull(101, 3, 1))
            await changed(scene, change)
            await given(scene, pull(102, 0), pull(103, 2, 1), pull(104, 1) + pull(105, 0))
            table = scene.broker.service_port.offsets
            left.append((scene.wire.written, table._committed, table._pulled, table.changes))
            served = scene.broker.service_port.counts.get.total
            assert (counters(scene).get("speedups.pulls", "0") != "0") == (way == "1")
    assert left[0] == left[1]
    assert served >= 32 + 28
    assert {100, 101, 102, 103, 104, 105} <= set(frames(left[0][0]))


async def test_a_pull_that_waits_is_given_what_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*STORED, pull(100, 71), send(101, e="0"), pull(102, 72, code=361), send(103, e="0")]
    found = await both(tmp_path, monkeypatch, reads)
    assert offsets(found, 100) == [71]
    assert offsets(found, 102) == [72]
    assert frames(found.answers)[102].ext["nextBeginOffset"] == "73"
    assert list(frames(found.answers))[-4:] == [101, 100, 103, 102], "who sent is answered first"
    assert found.given == 2
    assert found.counts["found"] == (2, 2, 2), "each has missed before"
    assert found.counts["gets"]["consumers", "t"][1::2] == (2, 0.0)
    waited = {labels[1:4] for labels in found.counts["latencies"]}
    assert {("pull_message", "success", "true"), ("lite_pull_message", "success", "true")} <= waited


async def test_several_pulls_wait_for_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = pull(100, 71) + pull(101, 71, maxMsgNums=2) + pull(102, 31, 1) + pull(103, 71, maxMsgBytes=300)
    reads = [*STORED, read, batch(110, 4, e="0"), batch(111, 2, e="1"), pull(112, 73), pull(113, 75)]
    found = await both(tmp_path, monkeypatch, [*reads, send(114, e="0")])
    assert offsets(found, 100) == [71, 72, 73, 74]
    assert offsets(found, 101) == [71, 72]
    assert offsets(found, 102) == [31, 32]
    assert offsets(found, 103) == [71]
    assert offsets(found, 113) == [75]
    assert found.given == 4 + 2 + 2 + 1 + 2 + 1


async def test_pulls_of_several_queues_are_answered_in_the_order_of_their_first_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue that is written to first is the one whose last message comes last, too."""
    read = send(110, e="1") + send(111, e="0") + send(112, "other", e="3") + send(113, e="1")
    reads = [*STORED, pull(100, 71), pull(101, 31, 1), read, read]
    found = await both(tmp_path, monkeypatch, [*reads, pull(102, 73), pull(103, 35, 1), read])
    assert list(frames(found.answers))[-2:] == [103, 102]
    assert [offsets(found, opaque) for opaque in (101, 100)] == [[31, 32], [71]]
    assert found.given == 2 + 1 + 2 + 1


async def test_a_pull_waits_behind_a_send_of_its_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*STORED, send(100, e="0") + pull(101, 71) + pull(102, 0) + send(103, e="0")]
    found = await both(tmp_path, monkeypatch, reads)
    assert offsets(found, 101) == [71, 72]
    assert found.given == 32 + 2


async def test_a_pull_that_waits_brings_an_offset_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_commit = {"sysFlag": str(PullFlag.SUSPEND | PullFlag.COMMIT_OFFSET)}
    reads = [*STORED, pull(100, 71, commitOffset=70, **with_commit), pull(101, 31, 1, **with_commit)]
    found = await both(
        tmp_path, monkeypatch, [*reads, send(102, e="0"), pull(103, 72, commitOffset=99, **with_commit)]
    )
    assert found.counts["offsets"][0]["t", "consumers"] == {0: 70, 1: 0}
    assert found.counts["offsets"][1]["t", "consumers"] == {0: 72, 1: 31}
    assert found.given == 1


async def test_a_pull_goes_on_waiting_while_no_tag_of_its_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wants_b = heartbeat(2, "b", subVersion=8)
    tagged = {tag: {"UNIQ_KEY": "7F0000010009", "TAGS": tag} for tag in "ab"}
    reads = [*STORED, wants_b, pull(100, 71)]
    reads += [send(101, e="0", properties=tagged["a"]), send(102, e="0", properties=tagged["b"])]
    found = await both(tmp_path, monkeypatch, reads)
    assert list(frames(found.answers))[-3:] == [101, 102, 100]
    assert offsets(found, 100) == [72]
    assert found.given == 1


@pytest.mark.parametrize("tags", [[], ["b"]])
async def test_a_pull_learns_when_its_time_is_over_or_its_offset_moves_on(
    tags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*STORED, heartbeat(2, *tags, subVersion=8), pull(100, 71, suspendTimeoutMillis=3000)]
    reads += [pull(101, 31, 1), send(102, e="1", properties={"UNIQ_KEY": "7F0000010009", "TAGS": "a"})]
    found = await both(tmp_path, monkeypatch, [*reads, *(heartbeat(200 + n, *tags) for n in range(12))])
    answers = frames(found.answers)
    assert (answers[100].code, answers[100].ext["nextBeginOffset"]) == (19, "71")
    assert (answers[101].code, answers[101].ext["nextBeginOffset"]) == (20 if tags else 0, "32")
    assert found.given == (0 if tags else 1)


WAITS_OTHERWISE: dict[str, bytes] = {
    "no wait": pull(5, 71, sysFlag=0),
    "a queue that is not there": pull(5, 71, 2),
    "a topic without messages": pull(5, 0, 3, topic="other"),
    "a subscription of its own": pull(5, 71, sysFlag=6, subscription="*"),
    "a commit behind the end": pull(5, 71, commitOffset=10**6, sysFlag=COMMITS),
    "a newer subscription": pull(5, 71, subVersion=8),
    "a group without members": pull(5, 71, consumerGroup="others"),
    "one-way": pull(5, 71, flag=FLAG_ONEWAY),
    "no time": pull(5, 71, suspendTimeoutMillis=0),
    "a time that is none": pull(5, 71, suspendTimeoutMillis="soon"),
    "a negative time": pull(5, 71, suspendTimeoutMillis=-1),
}


@pytest.mark.parametrize("odd", WAITS_OTHERWISE)
async def test_what_waits_otherwise_or_not_at_all(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pull(11, 71) + WAITS_OTHERWISE[odd] + pull(12, 71)
    found = await both(tmp_path, monkeypatch, [*STORED, read, send(20, e="0"), pull(13, 72), send(21, e="0")])
    assert [offsets(found, opaque) for opaque in (11, 12, 13)] == [[71], [71], [72]]
    assert found.given >= 1


@pytest.mark.parametrize(
    "limits", [{"net": {"in_flight_requests_max": 16}}, {"broker": {"pull_waiting_max": 16}}]
)
async def test_no_more_wait_than_may(
    limits: dict[str, dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = b"".join(pull(100 + n, 71) for n in range(20))
    reads = [*STORED, read, heartbeat(2), *(heartbeat(3) for _ in range(20)), pull(130, 71), send(131, e="0")]
    found = await both(tmp_path, monkeypatch, reads, **limits)
    answers = frames(found.answers)
    assert [answers[100 + n].code for n in range(20)] == [19] * 16 + [2] * 4
    assert offsets(found, 130) == [71]
    assert found.given == 1


async def test_without_long_polling_pulls_wait_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*STORED, pull(100, 71), *(heartbeat(200 + n) for n in range(6)), pull(101, 71), send(102, e="0")]
    found = await both(tmp_path, monkeypatch, reads, broker={"long_polling": False})
    assert frames(found.answers)[100].code == 19
    assert offsets(found, 101) == [71]
    assert found.given == 1


async def test_what_comes_is_more_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = batch(101, [element(n, body=b"x" * 3000) for n in range(4)], e="0")
    reads = [*STORED, pull(100, 71), bodies, pull(102, 75), send(103, e="0")]
    broker = {"cold_pull_messages_max": 2}
    found = await both(tmp_path, monkeypatch, reads, store={"hot_bytes": 4096}, broker=broker)
    assert offsets(found, 100) == [71, 72]
    assert offsets(found, 102) == [75]
    assert found.given == 1


@pytest.mark.parametrize("change", [None, *CHANGES])
async def test_what_is_changed_while_a_pull_waits_counts_as_ever(
    change: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = []
    for way in ("1", "0"):
        monkeypatch.setenv("MQFRAME_SPEEDUPS", way)
        async with opened(tmp_path / way) as scene:
            await given(scene, *STORED, pull(100, 71), pull(101, 31, 1))
            if change:
                await changed(scene, change)
            await given(scene, batch(102, 4, e="0"), send(103, e="1"), pull(104, 75), send(105, e="0"))
            table, counts = scene.broker.service_port.offsets, scene.broker.service_port.counts
            left.append(
                (scene.wire.written, table._committed, table._pulled, table.changes, counts.get.total)
            )
            if not change:
                assert counters(scene).get("speedups.pulls", "0") == ("6" if way == "1" else "0")
    assert left[0] == left[1]
    assert {100, 101} <= set(frames(left[0][0]))


@pytest.mark.parametrize("told", [True, False])
async def test_an_operator_resets_an_offset_while_a_pull_waits(told: bool, tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        await given(scene, *STORED, pull(100, 71))
        scene.broker.service_port.offsets.reset("consumers", "t", 0, 3)
        scene.wire.written = b""
        if told:
            scene.broker.part(PullProcessor).offset_reset("consumers", "t", 0)
        await given(scene, send(101, e="0"), pull(102, 3))
        answers = frames(scene.wire.written)
        assert (answers[100].code, answers[100].ext["nextBeginOffset"]) == (21, "3")
        assert [m.queue_offset for m in decode_records(answers[102].body)] == list(range(3, 35))
        assert counters(scene)["speedups.pulls"] == "32"


async def test_nobody_is_answered_whose_connection_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        await given(scene, *STORED)
        group = scene.broker._listeners._public._group
        other, wire = AsyncPeer(group), Wire(("10.1.2.4", 5000))
        other.connection_made(wire)  # type: ignore[arg-type]
        other.data_received(pull(100, 71) + pull(101, 31, 1))
        await given(scene, send(102, e="0"))
        assert list(frames(wire.written)) == [100]
        other.connection_lost(None)
        await given(scene, send(103, e="1"), pull(104, 31, 1))
        assert list(frames(wire.written)) == [100]
        assert [m.queue_offset for m in decode_records(frames(scene.wire.written)[104].body)] == [31]
        assert counters(scene)["speedups.pulls"] == "2"
        assert group.endpoint.held_bytes == 0


async def test_what_fails_on_the_shorter_way_is_answered_on_the_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as scene:
        await given(scene, *STORED, pull(100, 71))
        with monkeypatch.context() as patched:
            patched.setattr(ConsumeQueue, "min_offset", failing_once(ConsumeQueue.min_offset))
            await given(scene, send(101, e="0"))
        answers = frames(scene.wire.written)
        assert [m.queue_offset for m in decode_records(answers[100].body)] == [71]
        assert counters(scene)["speedups.pulls"] == "0"


def failing_once(method: Callable[[ConsumeQueue, int], int]) -> Callable[[ConsumeQueue, int], int]:
    failed = []

    def wrapped(queue: ConsumeQueue, start: int) -> int:
        if not failed:
            failed.append(1)
            raise RuntimeError("once")
        return method(queue, start)

    return wrapped


@pytest.mark.parametrize("seed", range(8))
async def test_consumers_that_keep_up(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sends, batches and pulls around the ends of queues, in any order, of all messages or by tag."""
    chance = random.Random(seed)
    ends, number, reads = {0: 71, 1: 31}, 100, [*STORED]
    for _ in range(40):
        read, sent_to = [], chance.randrange(2)
        for _ in range(chance.choice([1, 1, 2, 4])):
            number, queue_id = number + 1, chance.randrange(2)
            kind = chance.choice(["pull", "pull", "pull", "send", "batch", "beat"])
            if kind == "pull":
                offset = ends[queue_id] + chance.choice([-2, 0, 0, 0, 0, 1])
                wait = chance.choice([0, 2000, 15000])
                form = chance.choice(list(HeaderForm))
                read.append(pull(number, offset, queue_id, suspendTimeoutMillis=wait, form=form))
            elif kind == "beat":
                read.append(heartbeat(number, *chance.choice([[], ["a"], ["b"]])))
            else:
                many = chance.randrange(1, 5) if kind == "batch" else 1
                fields = {"e": str(sent_to)}
                read.append(batch(number, many, **fields) if kind == "batch" else send(number, **fields))
                ends[sent_to] += many
        reads.append(b"".join(read))
    found = await both(tmp_path, monkeypatch, reads)
    assert found.given > 20


async def test_a_store_that_was_closed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("short", "long"):
        async with opened(tmp_path / name) as scene:
            await given(scene, *STORED)
    found = await both(tmp_path, monkeypatch, [heartbeat(1), pull(100, 0), pull(101, 0), pull(102, 1, 1)])
    assert offsets(found, 101) == list(range(32))
    assert found.given == 32 + 32 + 30


@pytest.mark.parametrize("crc", [False, True])
async def test_a_damaged_record_is_left_to_the_longer_way(crc: bool, tmp_path: Path) -> None:
    """`crc`: one over all of a record tells where its body is as it was."""
    async with opened(tmp_path, store={"property_crc": crc}) as scene:
        await given(scene, *STORED)
    file = min((tmp_path / "commitlog").iterdir())
    raw = bytearray(file.read_bytes())
    at = raw.index(b"3" * 9)  # the body of a message in queue 1
    raw[raw.index(b"UNIQ_KEY", at) + 12 if crc else at] ^= 1
    file.write_bytes(raw)
    async with opened(tmp_path) as scene:
        scene.wire.written = b""
        await given(scene, heartbeat(1), pull(100, 0), pull(101, 0, 1))
        answers = frames(scene.wire.written)
        bodies = [message.stored_body for message in decode_records(answers[101].body)]
        assert len(bodies) == 30
        assert b"3" * 9 not in bodies
        assert counters(scene)["speedups.pulls"] == "32"


@pytest.mark.parametrize("seed", range(12))
async def test_pulls_with_anything_in_them(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields of any value, and bytes that were changed on the way: the same answers, or the same end."""
    chance = random.Random(seed)
    values: list[object] = [
        0,
        1,
        7,
        31,
        32,
        70,
        71,
        5000,
        -1,
        2**31,
        2**63,
        "",
        "x",
        "t",
        "other",
        None,
        "1 ",
        "*",
    ]
    names = """bname commitOffset consumerGroup maxMsgBytes maxMsgNums queueId queueOffset subVersion sysFlag
        topic""".split()
    reads = [*STORED]
    for number in range(40):
        changes = {
            name: chance.choice(values) for name in chance.sample(names, chance.choice([0, 0, 1, 1, 2]))
        }
        usual = {"queueOffset": chance.randrange(30), "queueId": chance.randrange(2)} | changes
        usual["form"] = chance.choice(list(HeaderForm))
        pulls = [pull(100 + number, 0, **usual), pull(200 + number, chance.randrange(30))]  # type: ignore[arg-type]
        reads.append(b"".join(chance.sample(pulls, 2)))
    for number in range(300, 303):
        raw = bytearray(pull(number, 3, 1, form=chance.choice(list(HeaderForm))))
        raw[chance.randrange(8, len(raw))] = chance.choice(b'0189"\\,:{}x \x00\xff')
        reads += [bytes(raw), pull(number + 10, 5)]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.given > 500
