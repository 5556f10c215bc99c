"""Batches that go the shorter way leave what they leave on the longer one: files, answers, numbers."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest
from twins import ANY_PROPERTIES, FIRST, batch, both, element, send

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.messages import properties as p
from mqframe.core.wire.frame import HeaderForm

UNIQUE = "7F000001000712345678"
SHARED = [
    "WAIT\x01true\x02",
    "",
    "TAGS\x01shared\x02KEYS\x01of all",
    f"UNIQ_KEY\x01{UNIQUE}\x02WAIT\x01true",
    p.encode_properties({**ANY_PROPERTIES, "__SHARDINGKEY": "s"}),
]
ROOMY = {"commit_log_file_bytes": 1 << 20}


@pytest.mark.parametrize("shared", SHARED)
async def test_ordinary_ones_go_it(shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (1, 2, 100)
    reads = [batch(10 + n, size, properties=shared) for n, size in enumerate(sizes)]
    reads.append(batch(20, 7, properties=shared, form=HeaderForm.ROCKETMQ, code=310))
    reads.append(
        batch(21, 2, properties=shared) + batch(22, 3, properties=shared) + batch(24, 4, topic="other")
    )
    found = await both(tmp_path, monkeypatch, [*FIRST, *reads], store=ROOMY)
    assert found.native == sum(sizes) + 7 + 2 + 3 + 4
    assert found.counts["put"] == found.native + 4
    assert found.counts["t"][:2] == (2 + sum(sizes) + 7 + 5, 2 + 6), "a batch is put once"
    assert sum(found.counts["puts by time"]) == 4 + 7
    assert ("fifo" in found.counts["t"][4]) is ("SHARDING" in shared)
    assert found.answers.count(b'"transactionId"') == 4 + 6 * ("UNIQ" in shared)
    assert found.log.count(b"body") == found.counts["put"]


async def test_messages_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [
        "", "a\x01b", "a\x01b\x02", "TAGS\x01tag", "KEYS\x01k", "KEYS\x01 k  l \x02", "UNIQ_KEY\x01k", "\x02",
        "UNIQ_KEY\x01clé\x02TAGS\x01étiquette\x02KEYS\x01鍵 🔑", "x", "UNIQ_KEY\x01a\x02UNIQ_KEY\x01b\x02",
        "TRACE_ON\x01false\x02", "__SHARDINGKEY\x01s", "KEYS\x01" + " ".join(f"k{n}" for n in range(300)),
    ]  # fmt: skip
    together = [element(n, text, b"b" * n) for n, text in enumerate(kinds)]
    reads = [
        batch(11, [element(1, text)], properties="") + batch(12, [element(2, text)] * 2, properties="")
        for text in kinds
    ]
    reads += [batch(13, together, properties=""), batch(14, [element(3, "a\x01b", b"DELAY\x013 DEL")])]
    reads += [batch(15, flag=FLAG_ONEWAY), batch(16, f="2", h="-77", j="3"), batch(17, code=310, j="3")]
    reads += [send(18, code=320), send(19, code=320, m="false")]
    found = await both(tmp_path, monkeypatch, [*FIRST, *reads], store=ROOMY)
    assert found.native == 4 * len(kinds) + 1 + 9 + 2
    assert found.answers.count(b'"msgId"') == 4 + len(reads) + len(kinds) - 1


GOOD = element(1)
RAW = GOOD * 2
ODD: dict[str, bytes] = {
    "a delay": batch(5, [GOOD, element(2, "DELAY\x013\x02")]),
    "a delay of the request": batch(5, properties="DELAY\x013\x02"),
    "a delay that both make together": batch(
        5, [element(2, "DEL", b"DELAY\x01"), GOOD], properties="AY\x013\x02"
    ),
    "a time": batch(5, [GOOD, element(2, "TIMER_DELAY_SEC\x013")]),
    "what only looks like a delay": batch(5, [element(2, "TAGS\x01DELETED\x02"), GOOD]),
    "a handle": batch(5, [GOOD, element(2, "POP_CK\x011 2 3\x02")]),
    "a handle of the request": batch(5, properties="POP_CK\x011 2 3\x02"),
    "a checksum": batch(5, [GOOD, element(2, "__CRC32#\x011\x02a\x01b")]),
    "a half message": batch(5, [GOOD, element(2, "TRAN_MSG\x01true\x02")]),
    "a region of the request": batch(5, properties="MSG_REGION\x01r\x02"),
    "notes": batch(5, [GOOD, element(2, "RETRY_TOPIC\x01t\x02")]),
    "no text": batch(5, [GOOD, GOOD[:-3] + b"\xc3\x02\x02"]),
    "an empty unique key": batch(5, [element(2, "UNIQ_KEY\x01\x02"), GOOD]),
    "a unique key that is none": batch(5, [element(2, "xUNIQ_KEY\x01a\x02"), GOOD]),
    "a unique key of the request with a quote": batch(5, properties='UNIQ_KEY\x01"\x02'),
    "tags that are empty": batch(5, [element(2, "TAGS\x01a\x02TAGS\x01\x02")]),
    "many messages": batch(5, [element(0, "", b"")] * 201),
    "many keys of one": batch(5, [element(2, "KEYS\x01" + " ".join(f"k{n}" for n in range(301)))]),
    "many keys of all": batch(5, [element(2, "KEYS\x01" + " ".join(f"k{n}" for n in range(101)))] * 2),
    "long properties": batch(5, [element(2, "a\x01" + "b" * 32_700)]),
    "a long message": batch(5, [element(2, "", b"b" * 5001)]),
    "a long batch of short ones": batch(5, [element(2, "", b"b" * 3000)] * 2),
    "larger than a file of the log": batch(5, [element(2, "", b"")] * 190, properties="a\x01" + "b" * 500),
    "an empty one": batch(5, body=b""),
    "one byte": batch(5, body=b"\0"),
    "cut off": batch(5, body=RAW[:-1]),
    "something behind it": batch(5, body=RAW + b"\0\0"),
    "a size too large": batch(5, body=GOOD + struct.pack(">i", len(GOOD) + 1) + GOOD[4:]),
    "a size too small": batch(5, body=GOOD + struct.pack(">i", 21) + GOOD[4:]),
    "a size below 0": batch(5, body=struct.pack(">i", -1) + RAW[4:]),
    "a body below 0": batch(5, body=RAW[:16] + struct.pack(">i", -1) + RAW[20:]),
    "properties below 0": batch(5, body=RAW[:24] + b"\xff\xff" + RAW[26:]),
    "a queue of the broker's choice": batch(5, e="-1"),
    "a queue that is not there": batch(5, e="2"),
    "a topic that is not there": batch(5, topic="nobody knows", c="nothing"),
    "a topic that is made": batch(5, topic="made"),
    "a retry": batch(5, topic="%RETRY%g"),
    "a transaction's flag": batch(5, f="4"),
    "a flag in another way": batch(5, m="1"),
    "no batch": batch(5, m="false"),
    "unit mode": batch(5, topic="unit", k="true"),
}
MAKE_TOPICS = ("a topic that is made", "a retry", "unit mode")
"""Python has to see what comes behind one of these, once the topics are others."""
SMALL = {"batch_messages_max": 200, "message_keys_max": 300, "body_bytes_max": 5000}


@pytest.mark.parametrize("odd", ODD)
async def test_odd_ones_end_as_ever_and_what_follows_goes_on(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [*FIRST, batch(11) + ODD[odd] + send(12), ODD[odd], batch(13)]
    found = await both(tmp_path, monkeypatch, reads, store=SMALL)
    assert found.native == 6 + (odd not in MAKE_TOPICS), "those that are not odd"
    assert found.answers.count(b'"opaque":13,') == 1


async def test_batches_and_single_messages_in_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(11)
    reads = [send(3, "other"), send(2, "third")]
    native = 0
    for n in range(10, 100, 9):
        sizes = [chance.choice([0, 1, 3, 12]) for _ in range(9)]
        native += sum(size or 1 for size in sizes)
        topics = [chance.choice(["t", "other", "third"]) for _ in sizes]
        shared = [chance.choice(SHARED) for _ in sizes]
        frames = [
            batch(n + at, size, topic=topics[at], properties=shared[at]) if size else send(n + at, topics[at])
            for at, size in enumerate(sizes)
        ]
        reads.append(b"".join(frames))
    found = await both(tmp_path, monkeypatch, [*FIRST, *reads], store=ROOMY)
    assert found.native == native
    assert found.counts["put"] == native + 6


@pytest.mark.parametrize("reads", [1, 2, 7])
async def test_one_that_comes_in_several_reads(
    reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = batch(11, [element(n, body=b"x" * 500) for n in range(100)]) + send(12)
    size = -(-len(whole) // reads)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    found = await both(tmp_path, monkeypatch, [*FIRST, *pieces], store=ROOMY)
    assert found.native == 101


async def test_the_log_turns_to_its_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [batch(10 + n, [element(n * 10 + k, body=b"x" * 700) for k in range(10)]) for n in range(20)]
    found = await both(tmp_path, monkeypatch, [*FIRST, *reads])
    assert found.native in (170, 180), "what turns the log goes the longer way"
    assert found.log.count(b"x" * 700) == 200


def damaged(chance: random.Random, raw: bytes) -> bytes:
    """`raw` with a few bytes flipped, a length changed, or its end cut off."""
    body = bytearray(raw)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(body))
        match chance.randrange(5):
            case 0 | 1:
                body[at] ^= 1 << chance.randrange(8)
            case 2:
                body[at : at + 2] = chance.choice([b"\x01", b"\x02", b"ab", b"\xc3\xa9", b"\xff\xff", b"\0"])
            case 3:
                struct.pack_into(">i", body, chance.choice([0, 16]), chance.randint(-2, len(body) + 2))
            case _:
                del body[max(at, 1) :]
                body += bytes(25)
    return bytes(body)


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_ones(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    reads = []
    for n in range(10, 160):
        texts: list[Any] = [None, None, "a\x01b", "", "TAGS\x01x\x02", "KEYS\x01k l", "UNIQ_KEY\x01é"]
        raw = b"".join(element(n * 10 + k, chance.choice(texts)) for k in range(chance.randint(1, 4)))
        reads.append(batch(n, body=damaged(chance, raw), properties=chance.choice(SHARED)))
    found = await both(tmp_path, monkeypatch, [*FIRST, *reads], store=ROOMY)
    assert found.native > 20
    assert found.answers.count(b'"remark"') > 20
