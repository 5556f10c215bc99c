"""A hostile broker and name server for clients: true answers, turned into lies by a seed.

`HostileClient` stands where a client's connections are. Behind it is a real broker, so that what was truly
stored can be looked up, and every kind of request has a true answer to begin with. Before the client sees it,
an answer is lost, late, refused, cut, of another kind, without fields, with wrong types or numbers, with a
body of other words, or no answer at all; servers also ask what no sound one asks.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec

from mqframe.core.codes import SysFlag
from mqframe.core.errors import CallTimeout, ConnectError, ConnectionLost, FrameError, TooMuchInFlight
from mqframe.core.requests import REQUESTS, Request
from mqframe.core.requests.messages import SendFieldsV2
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.sending.retries import STORED_CODES
from mqframe.core.storage.record import RecordError, decode_records, encode_record
from mqframe.core.wire.frame import Body, Frame, FrameDecoder, encode_frame
from mqframe.net.client import Client
from mqframe.net.clock import LoopClock

NUMBERS: Final = ("-1", "0", "1", "-9223372036854775808", "9223372036854775807", "2147483647", "-2147483648")
WORDS: Final = (
    "",
    "x",
    "1e9",
    "null",
    "true",
    " 5",
    "\u0663",
    "9" * 30,
    "1.5",
    "\x00",
    "0:1,2:x",
    "; ;",
    "a" * 70000,
)
CODES: Final = (
    -1,
    0,
    1,
    2,
    3,
    10,
    11,
    12,
    14,
    16,
    17,
    19,
    20,
    21,
    22,
    24,
    25,
    26,
    205,
    206,
    209,
    210,
    604,
    2**31,
)
BODIES: Final = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"7",
    b'"x"',
    b"\xff\xfe",
    b"{" * 300,
    b"[" * 100_000,
    b'{"a":' * 5000,
    b'{"brokerDatas":null,"queueDatas":null}',
    b'{"brokerDatas":[{"brokerName":"broker-a","brokerAddrs":{"0":"nowhere"}}],'
    b'"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"writeQueueNums":4}]}',
    b'{"brokerDatas":[{"brokerName":"b","brokerAddrs":{"0":"127.0.0.1:1","1":"a\\u0000b:7"}}],'
    b'"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":1000000000,"writeQueueNums":1000000000}]}',
    b'{"brokerDatas":[],"queueDatas":[],"orderTopicConf":"broker-a:\xc2\xb2"}',
    b'{"brokerDatas":[],"queueDatas":[{"brokerName":"gone","perm":6,"readQueueNums":2,"writeQueueNums":2}]}',
    b'{"consumerIdList":["x","x",""]}',
    b'{"lockOKMQSet":[{"topic":"t","brokerName":"b","queueId":"7"}]}',
)
LEAVES: Final = (None, -1, 2**40, "x", "", [], {}, True, 1.5, "9" * 400)


class HostileClient(Client):
    """Connections whose other side lies about every `1/rate`th answer, as `seed` has it.

    `lies`: what was done, in order, for the one who looks at a failed seed.
    """

    def __init__(self, clock: LoopClock, seed: int, rate: float = 0.0) -> None:
        super().__init__(clock)
        self._clock = clock
        self.random = random.Random(seed)
        self.rate = rate
        self._seed = seed
        self._counts: Counter[str] = Counter()
        self.lies: list[str] = []

    def invoke(
        self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0
    ) -> Awaitable[Frame]:
        """The answer, or a lie in its place."""
        chance = self._chance(request)
        if chance.random() >= self.rate:
            return super().invoke(address, request, body, timeout=timeout)
        return asyncio.ensure_future(self._lie(chance, address, request, body, timeout))

    async def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0) -> None:
        """Send it, lose it, or say that it was lost."""
        chance = self._chance(request)
        if chance.random() < self.rate:
            lie = chance.choice(("lost", "refused", "swallowed"))
            self._note(lie, request)
            if lie == "swallowed":
                return
            if lie == "refused":
                raise ConnectError(f"no connection to {address}; nothing was sent")
        await super().oneway(address, request, body, timeout=timeout)

    def _chance(self, request: Request) -> random.Random:
        # By kind and number: which request of several comes first may differ from run to run.
        name = type(request).__name__
        self._counts[name] += 1
        return random.Random(f"{self._seed} {name} {self._counts[name]}")

    async def _lie(
        self, chance: random.Random, address: str, request: Request, body: Body, timeout: float
    ) -> Frame:
        lie = chance.choice(("refused", "full", "lost", "late", *["changed"] * 8))
        if lie != "changed":
            self._note(lie, request)
        if lie == "refused":
            raise ConnectError(f"no connection to {address}: refused; nothing was sent")
        if lie == "full":
            raise TooMuchInFlight(f"{address} does not read; nothing was sent")
        answer = await super().invoke(address, request, body, timeout=timeout)
        if not self.rate:
            return answer  # it was held back until the other side was sound again
        if lie == "lost":
            raise ConnectionLost(f"connection to {address} closed: reset by peer")
        if lie == "late":
            await self._clock.sleep(timeout)
            raise CallTimeout(f"{address} did not answer within {timeout:g} s")
        return self._changed(chance, address, request, answer)

    def _changed(self, chance: random.Random, address: str, request: Request, answer: Frame) -> Frame:
        name, change = chance.choice(CHANGES)
        self._note(name, request)
        answer.body = bytes(answer.body)
        try:
            found = reread(change(chance, answer))
            if isinstance(request, SendFieldsV2) and found.code not in STORED_CODES:
                raise FrameError("nobody can tell a refusal that is a lie")
            return found
        except FrameError as problem:
            raise ConnectionLost(f"connection to {address} closed: malformed frame: {problem}") from problem

    def _note(self, lie: str, request: Request) -> None:
        self.lies.append(f"{lie} {type(request).__name__}")

    async def ask(self) -> None:
        """Have the client serve what no sound server asks. Raises what is no error of the project's own."""
        code = self.random.choice([*self._endpoint.handlers, 0, -1, 2**31 - 1])
        kind = REQUESTS.get(code)
        fields = kind.__struct_encode_fields__ if kind is not None else ()
        ext = {name: self.random.choice((*NUMBERS, *WORDS)) for name in fields if self.random.random() < 0.9}
        frame = Frame(code, self.random.randrange(99), 0, None, ext, self.random.choice((*BODIES, records())))
        self.lies.append(f"asked {code} {ext}")
        answers: list[Reply] = []
        call = Call(frame, cast("Peer", _Asker(answers)), self._clock.monotonic())
        handler = self._endpoint.handlers.get(code)
        if handler is None:
            return
        result = handler(call)
        if isinstance(result, Awaitable):
            await result


class _Asker:
    """The connection by which a server asks."""

    address = "10.0.0.1:10911"
    closed = False
    unsent_bytes = 0

    def __init__(self, answers: list[Reply]) -> None:
        self.answers = answers

    def answer(self, call: Call, reply: Reply) -> None:
        self.answers.append(reply)

    def oneway(self, request: Request, body: Body = b"") -> None:
        """The client's own notice."""

    def close(self, reason: str) -> None:
        """The client may do so."""


def reread(frame: Frame) -> Frame:
    """`frame` as it comes out of a connection. Raises `FrameError`."""
    try:
        data = encode_frame(frame)
    except UnicodeEncodeError as problem:
        raise FrameError(str(problem)) from None
    return decode(data)


def decode(data: bytes) -> Frame:
    """The first frame in `data`. Raises `FrameError`, also for one that is cut."""
    decoder = FrameDecoder()
    decoder.receive(data)
    found = decoder.next_frame()
    if found is None:
        raise FrameError("cut")
    return found


def records(**changes: Any) -> bytes:
    """A stored message, as pulls bring it."""
    host = bytes((127, 0, 0, 1, 0, 0, 0, 1))
    fields = {
        "topic": "elsewhere",
        "queue_id": 0,
        "queue_offset": 0,
        "physical_offset": 0,
        "body": b"of another topic",
        "properties": b"UNIQ_KEY\x01other\x02",
        "born_timestamp": 1,
        "born_host": host,
        "store_timestamp": 1,
        "store_host": host,
        **changes,
    }
    return encode_record(**fields)


# What is done to a true answer


def _code(chance: random.Random, frame: Frame) -> Frame:
    frame.code, frame.remark = chance.choice(CODES), chance.choice((None, "", "why", "\U0001f600" * 100))
    return frame


def _no_fields(chance: random.Random, frame: Frame) -> Frame:
    frame.ext = None
    return frame


def _field_gone(chance: random.Random, frame: Frame) -> Frame:
    ext = dict(frame.ext or {})
    if ext:
        del ext[chance.choice(sorted(ext))]
    frame.ext = ext
    return frame


def _field_changed(chance: random.Random, frame: Frame) -> Frame:
    ext = dict(frame.ext or {"topic": ""})
    ext[chance.choice(sorted(ext))] = chance.choice((*NUMBERS, *WORDS))
    frame.ext = ext
    return frame


def _all_fields_changed(chance: random.Random, frame: Frame) -> Frame:
    frame.ext = {name: chance.choice(NUMBERS) for name in frame.ext or {}}
    return frame


def _body_cut(chance: random.Random, frame: Frame) -> Frame:
    frame.body = frame.body[: chance.randrange(len(frame.body) + 1)]
    return frame


def _body_of_other_words(chance: random.Random, frame: Frame) -> Frame:
    frame.body = chance.choice(BODIES)
    return frame


def _leaf_changed(chance: random.Random, frame: Frame) -> Frame:
    try:
        value = json.loads(bytes(frame.body))
    except ValueError:
        return _body_cut(chance, frame)
    frame.body = json.dumps(_with_other_leaf(chance, value)).encode()
    return frame


def _with_other_leaf(chance: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: _with_other_leaf(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _with_other_leaf(chance, value[at]), *value[at + 1 :]]
    return chance.choice(LEAVES)


def _records_changed(chance: random.Random, frame: Frame) -> Frame:
    """Messages of another queue or topic, at other offsets, doubled, swapped, packed in no known way."""
    try:
        found = list(decode_records(frame.body))
    except RecordError:
        return _body_cut(chance, frame)
    parts = []
    for each in found:
        change: dict[str, Any] = {
            "topic": each.topic,
            "queue_id": each.queue_id,
            "queue_offset": each.queue_offset,
            "body": each.stored_body,
            "properties": each.raw_properties.encode(),
            "sys_flag": each.sys_flag,
        }
        name = chance.choice(sorted(change))
        change[name] = chance.choice(
            {
                "topic": ("elsewhere", "%RETRY%x", "", each.topic),
                "queue_id": (-1, 7, 2**31 - 1),
                "queue_offset": (-1, 0, 2**62, each.queue_offset + 1, each.queue_offset - 1),
                "body": (b"", each.stored_body),
                "properties": (
                    b"",
                    b"\xff",
                    b"\x01\x02",
                    b"RECONSUME_TIME\x01x\x02DELAY\x01-7\x02MAX_OFFSET\x01y\x02",
                ),
                "sys_flag": (SysFlag.COMPRESSED, SysFlag.COMPRESSED | 0x700, -1 & 0x7FFFFFF0 & ~0x30),
            }[name]
        )
        parts.append(records(**change))
    chance.shuffle(parts)
    frame.body = b"".join(parts * chance.choice((1, 1, 2)))
    return frame


def _bits_of_the_header(chance: random.Random, frame: Frame) -> Frame:
    data = bytearray(encode_frame(msgspec.structs.replace(frame, body=b"")))
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    found = decode(bytes(data))
    found.body = frame.body
    return found


CHANGES: Final[list[tuple[str, Callable[[random.Random, Frame], Frame]]]] = [
    (change.__name__.strip("_"), change)
    for change in (
        _code,
        _no_fields,
        _field_gone,
        _field_changed,
        _all_fields_changed,
        _body_cut,
        _body_of_other_words,
        _leaf_changed,
        _leaf_changed,
        _records_changed,
        _bits_of_the_header,
    )
]
