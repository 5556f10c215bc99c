"""Sends that go the shorter way leave what they leave on the longer one: files, answers, numbers."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest
from mqframe_replication.settings import ReplicationSettings
from twins import ANY_PROPERTIES, FIRST, LOG_BYTES, Asking, batch, both, element, opened, send, stored

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.log_scan import scan
from mqframe.core.wire.frame import Frame, HeaderForm, encode_frame


@pytest.mark.parametrize("form", list(HeaderForm))
async def test_ordinary_sends_go_it(
    form: HeaderForm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sends = [send(10 + n, body=b"%d" % n * 40, form=form) for n in range(9)]
    found = await both(tmp_path, monkeypatch, [*FIRST, sends[0], b"".join(sends[1:5]), b"".join(sends[5:])])
    assert found.native == 9
    assert found.counts["put"] == 13
    assert found.counts["t"][:2] == (11, 11)
    assert found.answers.count(b'"queueOffset"') == 13
    assert all(b"%d" % n * 40 in found.log for n in range(9))
    (index,) = found.index.values()
    assert int.from_bytes(index[36:40], "big") == 1 + 3 * 13, "the unique key and two others of each"


def with_header(frame: bytes, old: bytes, new: bytes) -> bytes:
    """`frame` with something else in its header."""
    size, header = struct.unpack_from(">II", frame)
    assert frame.count(old) == 1
    more = len(new) - len(old)
    return struct.pack(">II", size + more, header + more) + frame[8:].replace(old, new)


ODD: dict[str, bytes] = {
    "a delay level": send(5, properties={**ANY_PROPERTIES, "DELAY": "3"}),
    "a tag with a word in it": send(5, properties={**ANY_PROPERTIES, "TAGS": "xDELAYx"}),
    "no unique key": send(5, properties={"TAGS": "a"}),
    "no properties": send(5, properties=""),
    "two unique keys": send(5, properties="UNIQ_KEY\x01a\x02UNIQ_KEY\x01b\x02"),
    "an empty unique key": send(5, properties="UNIQ_KEY\x01\x02"),
    "a unique key at the end alone": send(5, properties="UNIQ_KEY\x01abc"),
    "a unique key with a quote": send(5, properties='UNIQ_KEY\x01a"b\x02'),
    "keys with spaces": send(5, properties={**ANY_PROPERTIES, "KEYS": " a  b "}),
    "a key of another script": send(5, properties={**ANY_PROPERTIES, "KEYS": "schlüssel 鍵 🔑"}),
    "a tag of another script": send(5, properties={**ANY_PROPERTIES, "TAGS": "🔑"}),
    "tags that are empty": send(5, properties="UNIQ_KEY\x01k\x02TAGS\x01\x02"),
    "tags in a value": send(5, properties="x\x01TAGS\x02UNIQ_KEY\x01k\x02yTAGS\x01a\x02"),
    "a sharding key": send(5, properties={**ANY_PROPERTIES, "__SHARDINGKEY": "s"}),
    "a cluster": send(5, properties={**ANY_PROPERTIES, "CLUSTER": "c"}),
    "a region": send(5, properties={**ANY_PROPERTIES, "MSG_REGION": "r"}),
    "a checksum": send(5, properties={**ANY_PROPERTIES, "__CRC32#": "1"}),
    "many keys": send(5, properties={**ANY_PROPERTIES, "KEYS": " ".join(f"key{n}" for n in range(400))}),
    "one-way": send(5, flag=FLAG_ONEWAY),
    "an answer": encode_frame(Frame(0, 5, 1)),
    "a transaction's flag": send(5, f="4"),
    "other flags": send(5, f="2", h="-77"),
    "hosts that say IPv6": send(5, f=str(1 << 4)),
    "a queue of the broker's choice, one of one": send(5, topic="one", e="0"),
    "a queue that is not there": send(5, e="2"),
    "a topic that is not there": send(5, topic="nobody knows", c="nothing"),
    "a topic with a bad name": send(5, topic="a b"),
    "a topic that is made": send(5, topic="made"),
    "no body": send(5, body=b""),
    "a number with a zero before it": send(5, e="01"),
    "a number that is none": send(5, e="x"),
    "a number too large": send(5, h=str(1 << 31)),
    "a retry": send(5, topic="%RETRY%g"),
    "unit mode": send(5, topic="unit", k="true"),
    "a batch": send(5, m="true"),
    "consumed before": send(5, j="3", l="16"),
    "properties too long": send(5, properties={**ANY_PROPERTIES, "x": "y" * 40_000}),
    "properties just short enough": send(5, properties={**ANY_PROPERTIES, "x": "y" * 1900}),
    "spaces in the header": with_header(send(5), b'{"code"', b'{ "code"'),
    "no fields": with_header(send(5), b'"extFields"', b'"other"'),
    "another request": encode_frame(Frame(105, 5, ext={"topic": "t"})),
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_is_odd_ends_as_ever_and_what_follows_goes_on(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*FIRST, send(11) + ODD[odd] + send(12), ODD[odd], send(13)]
    found = await both(tmp_path, monkeypatch, reads)
    assert 2 <= found.native <= 5
    assert found.answers.count(b'"opaque":13,') == 1


async def test_hosts_of_ipv6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*FIRST, b"".join(send(10 + n) for n in range(5))]
    found = await both(tmp_path, monkeypatch, reads, address=("fd00::17", 4567))
    assert found.native == 5


async def test_the_log_turns_to_its_next_file_and_so_does_a_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sends = [send(10 + n, body=b"x" * 700) for n in range(220)]
    reads = [*FIRST, *(b"".join(sends[n : n + 11]) for n in range(0, 220, 11))]
    found = await both(tmp_path, monkeypatch, reads)
    assert 190 <= found.native < 220, "what turns the log goes the longer way, with what came behind it"
    assert found.log.count(b"x" * 700) == 220


async def test_frames_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"".join(send(10 + n, body=b"%d" % n * (n % 7 * 30 + 1)) for n in range(60))
    chance = random.Random(7)
    cuts = sorted(chance.sample(range(1, len(whole)), 40))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found = await both(tmp_path, monkeypatch, [*FIRST, *pieces])
    assert found.native == 60


async def test_a_broker_without_it_stores_all_by_python(tmp_path: Path) -> None:
    found = await stored(tmp_path / "s", [*FIRST, send(11)], broker={"services_blocked": ("speedups",)})
    assert found.native == 0
    assert found.counts["put"] == 5


async def test_records_with_a_crc_over_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = send(50, properties={**ANY_PROPERTIES, "__CRC32#": "0123456789"})
    reads = [
        *FIRST,
        *(send(10 + n, body=b"x" * 700) + batch(200 + n, 3) for n in range(90)),
        *(ask(120 + n, b"%d" % n * 50) for n in range(10)),
        b"".join(send(140 + n, form=HeaderForm.ROCKETMQ, properties="UNIQ_KEY\x01k") for n in range(5)),
        copied,
        send(60),
    ]
    found = await both(tmp_path, monkeypatch, reads, store={"property_crc": True})
    assert 360 <= found.native < 376, "what turns the log, and what says that it has one, go the longer way"
    files = range(0, len(found.log), LOG_BYTES)
    sound = [record for base in files for record in scan(found.log[base : base + LOG_BYTES], base)]
    assert len(files) > 1
    assert [record.properties.count("__CRC32#") for record in sound] == [1] * found.counts["put"]


async def test_limits_may_be_any_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = dict.fromkeys(("body_bytes_max", "batch_messages_max", "message_keys_max"), 10**30)
    reads = [*FIRST, send(11) + batch(12) + send(13), ask(14)]
    found = await both(tmp_path, monkeypatch, reads, store=most)
    assert found.native == 6


async def test_without_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "short/index").mkdir(parents=True)
    (tmp_path / "long/index").mkdir(parents=True)
    blocked = {"services_blocked": ("index",)}
    found = await both(tmp_path, monkeypatch, [*FIRST, send(11) + send(12)], broker=blocked)
    assert found.native == 2
    assert not found.index


def ask(number: int, body: bytes = b"body", topic: str = "t", **fields: Any) -> Asking:
    """A send. `fields`: others than these."""
    properties = {**ANY_PROPERTIES, "UNIQ_KEY": f"7F0000010007{number:08X}", **fields.pop("more", {})}
    values = {
        "queue_id": number % 2, "sys_flag": 0, "born_timestamp": 1_700_000_000_123, "flag": 0,
        "properties": encode_properties(properties), "default_topic_queue_nums": 4,
        "producer_group": "producers", **fields,
    }  # fmt: skip
    return Asking(SendMessageV2(topic=topic, default_topic="TBW102", **values), body)


async def test_sends_in_process_go_it_beside_those_of_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sends = [ask(n, b"%d" % n * 50) if n % 3 else send(n, body=b"%d" % n * 50) for n in range(10, 30)]
    found = await both(tmp_path, monkeypatch, [*FIRST, *sends])
    assert found.native == 20
    assert [code for code, _, _ in found.replies] == [0] * 14
    assert {(ext or {})["queueId"] for _, _, ext in found.replies} == {"0", "1"}


ODD_ASKED = {
    "a queue that is not there": ask(5, queue_id=2),
    "a delay level": ask(5, more={"DELAY": "3"}),
    "an order": ask(5, more={"__SHARDINGKEY": "s"}),
    "properties of no text": ask(5, more={"x": "\ud800"}),
    "no properties": ask(5, properties=None),
    "no body": ask(5, b""),
    "a body of others' bytes": ask(5, memoryview(b"body")),  # type: ignore[arg-type]
    "a body too long": ask(5, bytes(5 << 20)),
    "a transaction": ask(5, sys_flag=4, more={"TRAN_MSG": "true"}),
    "a number too large": ask(5, flag=1 << 31),
    "queues of a new topic that no header holds": ask(5, default_topic_queue_nums=1 << 31),
    "a limit of tries that no header holds": ask(5, max_reconsume_times=-1 << 40),
    "an unknown topic": ask(5, topic="unknown", batch=False),
    "a batch": ask(5, batch=True),
    "unit mode": ask(5, unit_mode=True),
    "consumed before": ask(5, reconsume_times=3),
}


@pytest.mark.parametrize("odd", ODD_ASKED)
async def test_what_is_odd_in_process_ends_as_ever(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await both(tmp_path, monkeypatch, [*FIRST, ask(11), ODD_ASKED[odd], ask(12), send(13)])
    assert 2 <= found.native <= 4
    assert len(found.replies) == 3


async def test_what_is_too_long_for_a_header_is_refused_in_process_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*FIRST, ask(11), ask(12, producer_group="p" * 65_536), ask(13)]
    found = await both(tmp_path, monkeypatch, reads, net={"header_bytes_max": 65_536})
    assert [code == 0 for code, _, _ in found.replies] == [True, False, True]
    assert "net.header_bytes_max" in (found.replies[1][1] or "")
    assert found.native == 2


async def test_an_answer_in_process_waits_for_what_its_turn_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = send(11, topic="made")
    found = await both(tmp_path, monkeypatch, [*FIRST, made, ask(12, topic="made"), ask(13, topic="made")])
    assert [code for code, _, _ in found.replies] == [0, 0]
    assert found.native >= 1


async def test_the_broker_chooses_among_its_queues_there_as_well(tmp_path: Path) -> None:
    found = await stored(tmp_path / "s", [*FIRST, *(ask(10 + n, queue_id=-1) for n in range(30))])
    assert found.native == 30
    chosen = [ext["queueId"] for _, _, ext in found.replies if ext]
    assert min(chosen.count("0"), chosen.count("1")) > 3
    assert len(chosen) == 30


HURRIED = {**ANY_PROPERTIES, "UNIQ_KEY": "A", "WAIT": "false"}
WAITING = [
    *FIRST,
    send(10) + send(20, "other") + batch(12, 3) + send(13, form=HeaderForm.ROCKETMQ),
    send(14, flag=FLAG_ONEWAY),
    send(15) + send(16, properties=HURRIED) + send(17),
    batch(18, 2, properties="WAIT\x01false\x02"),
    batch(30, [element(1, "UNIQ_KEY\x01A\x02WAIT\x01false\x02")]) + send(31, properties=HURRIED),
    send(32, properties=HURRIED) + send(33, properties=HURRIED, flag=FLAG_ONEWAY) + send(34, "third"),
    send(35, "made", properties=HURRIED),
    send(36) + send(40, "other"),
    send(37, properties=HURRIED) + send(38, "other", properties=HURRIED) + send(39, "other"),
    send(19),
    ask(22),
    ask(23, more={"WAIT": "false"}),
    ask(24),
]


async def test_those_that_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await both(tmp_path, monkeypatch, WAITING, store={"flush": "SYNC_FLUSH"})
    assert found.native == 6 + 1 + 2 + 2 + 1 + 2 + 2 + 1 + 3, "one that waits otherwise goes the longer way"
    assert found.answers.count(b'"code":0,') == 4 + 4 + 3 + 1 + 2 + 2 + 1 + 2 + 3 + 1
    assert sum(found.counts["puts by time"]) == 4 + 4 + 1 + 3 + 1 + 2 + 3 + 1 + 2 + 3 + 1 + 3
    offsets = [(ext or {})["queueOffset"] for code, _, ext in found.replies if not code]
    assert offsets == ["12", "8", "13"]


async def test_those_that_get_no_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    master = ReplicationSettings(role="SYNC_MASTER", port=0)
    found = await both(tmp_path, monkeypatch, WAITING, replication=master)
    assert found.native == 6 + 1 + 2 + 2 + 1 + 2 + 2 + 1 + 3
    assert [code for code, _, _ in found.replies] == [11, 0, 11]
    assert found.answers.count(b'"code":11,') == 4 + 4 + 2 + 1 + 1 + 2 + 1 + 1
    assert found.answers.count(b'"code":0,') == 1 + 1 + 1 + 1 + 1 + 2, "these do not wait"


async def test_answers_of_a_connection_that_closed_meanwhile_are_dropped(tmp_path: Path) -> None:
    async with opened(tmp_path, store={"flush": "SYNC_FLUSH"}) as scene:
        for read in FIRST:
            scene.peer.data_received(read)
            await scene.settle()
        written = scene.wire.written
        scene.peer.data_received(send(10))
        held = scene.peer._group.endpoint.held_bytes
        scene.peer.close("the test closes it")
        await scene.settle()
        assert (held, scene.peer._group.endpoint.held_bytes) == (len(send(10)), 0)
        assert scene.wire.written == written
        assert scene.broker.service_port.counts.put.total == len(FIRST) + 1
