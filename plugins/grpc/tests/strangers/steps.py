"""What strangers do at a door, step by step: calls, their ends, and bytes that no client sends."""

from __future__ import annotations

import gzip
from random import Random
from typing import Final

from bent_bytes import bent
from fuzz import values
from fuzz.steps import Step
from mqframe_grpc.door import SERVICE
from mqframe_grpc.transport.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame_head,
)
from strangers.learned import Learned
from strangers.line import DoorLine, frame, head, opened, reset, sent
from strangers.requests import RPCS, RequestMaker, bomb

DOOR, BROKEN, MUTE = "door", "broken", "mute"
"""Where bytes go: to the door by a connection that does as clients do, by one that then does not, or by one
that does not even begin as one."""
LINES: Final = 3
_IDS: Final = ("fuzz@1", "fuzz@2", "fuzz@3")
_ODD_IDS: Final = (b"", b" ", b"x" * 300, b"a\x7fb", b"\xff\xfe", "ü".encode(), b"mqframe-grpc", b"a b")
_TIMEOUTS: Final = (
    "3S",
    "3S",
    "25S",
    "25S",
    "",
    "1n",
    "0S",
    "1m",
    "99999999H",
    "100000000S",
    "-1S",
    "x",
    "1",
)
_ENCODINGS: Final = ("identity", "gzip", "br", "")
_HEADERS_MAX: Final = 16_000


class StepMaker:
    """Makes steps. `learned`: what answers to earlier ones said."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._requests = RequestMaker(learned)
        self._last = b""

    def step(self, chance: Random, lines: dict[int, DoorLine], now_ms: int) -> Step:
        """What follows from `chance`. `lines`: the connections that there are, by their numbers."""
        place = chance.randrange(LINES)
        line = lines.get(place)
        which = chance.random()
        if which < 0.72:
            return self._call(chance, place, line, now_ms)
        if which < 0.80:
            return self._end(chance, place, line)
        if which < 0.86:
            return Step(
                "frame", BROKEN, LINES + place, self._broken(chance, lines.get(LINES + place), now_ms)
            )
        if which < 0.87:
            return Step("frame", MUTE, 2 * LINES, _no_preface(chance))
        if which < 0.89:
            return Step("close", DOOR, chance.choice((place, LINES + place)))
        if which < 0.91:
            return Step(chance.choice(("deaf", "hear")), DOOR, place)
        return Step("time", seconds=chance.choice((0.001, 0.1, 1.0, 1.0, 3.0, 10.0)))

    # Calls

    def _call(self, chance: Random, place: int, line: DoorLine | None, now_ms: int) -> Step:
        number = 1 if line is None or line.closed else line.next_number()
        data = self._bytes(chance, number, now_ms)
        ends = chance.random()
        kind, turns = ("rush", float(chance.randrange(12))) if ends < 0.3 else ("frame", 0.0)
        if ends < 0.06:
            data += reset(number)
        elif ends < 0.08:
            data = data[: chance.randrange(len(data))]
            return Step("frame", BROKEN, LINES + place, data)
        return Step(kind, DOOR, place, data, turns)

    def _bytes(self, chance: Random, number: int, now_ms: int) -> bytes:
        """One call, whole but for what is wrong with it."""
        rpc = chance.choice(RPCS)
        if values.flip(chance, 0.4):
            rpc = chance.choice(("SendMessage", "ReceiveMessage", "AckMessage", "Telemetry"))
        many = chance.choice((1, 2, 4)) if rpc == "Telemetry" else 1
        asked = [self._requests.request(rpc, chance, now_ms) for _ in range(many)]
        odd = values.flip(chance, 0.15)
        encoding = chance.choice(_ENCODINGS) if odd else "identity"
        data = b"".join(_prefixed(each, encoding, chance, odd=odd) for each in asked)
        self._last = data
        fields = self._fields(chance, rpc, encoding)
        if odd and values.flip(chance, 0.1):
            fields += [(b"x-much", b"y" * chance.choice((100, 4000, 9000, _HEADERS_MAX)))]
        path = SERVICE + rpc
        if odd and values.flip(chance, 0.1):
            path = chance.choice((path + "s", "/", SERVICE, "/x/y", "*", "", path.lower()))
        whole = rpc != "Telemetry" or values.flip(chance, 0.5)
        block = opened(number, [*head(path, {}), *fields], end=not data, huffman=values.flip(chance, 0.3))
        if odd and values.flip(chance, 0.1):
            return block  # and nothing more
        return block + sent(number, data, end=whole)

    def _fields(self, chance: Random, rpc: str, encoding: str) -> list[tuple[bytes, bytes]]:
        """The client's own header fields."""
        client = chance.choice(_IDS).encode()
        if values.flip(chance, 0.2):
            client = b"fuzz@%d" % chance.getrandbits(40)
        elif values.flip(chance, 0.05):
            client = chance.choice(_ODD_IDS)
        timeout = chance.choice(_TIMEOUTS) if values.flip(chance, 0.3) else "25S"
        fields = [
            (b"x-mq-client-id", client),
            (b"x-mq-language", chance.choice((b"JAVA", b"KLINGON", b"\xff"))),
            (b"x-mq-client-version", chance.choice((b"5.1.2", b"4", b"", b"9" * 100))),
        ]
        if timeout and rpc != "Telemetry":
            fields.append((b"grpc-timeout", timeout.encode()))
        if encoding != "identity":
            fields.append((b"grpc-encoding", encoding.encode()))
        if values.flip(chance, 0.05):
            fields.append((b"authorization", values.text(chance)[:100].encode("utf-8", "replace")))
            fields.append((b"x-mq-date-time", b"20251128T201500Z"))
        if values.flip(chance, 0.05):
            fields.append(chance.choice(fields))
        return [(name, value.strip().translate(None, b"\0\r\n")) for name, value in fields]

    def _end(self, chance: Random, place: int, line: DoorLine | None) -> Step:
        """A call that goes on is given up, gets more, or ends."""
        going = [] if line is None else [number for number, each in line.asked.items() if not each.over]
        going = [number for number in going if line is not None and not line.asked[number].given_up]
        if not going:
            return Step("time", seconds=0.1)
        number = chance.choice(going)
        if line is not None and not line.asked[number].whole and values.flip(chance, 0.6):
            more = _prefixed(self._requests.request("Telemetry", chance, 0), "identity", chance, odd=False)
            return Step("frame", DOOR, place, sent(number, more, end=values.flip(chance, 0.5)))
        return Step("rush", DOOR, place, reset(number), float(chance.randrange(4)))

    # What no client sends

    def _broken(self, chance: Random, line: DoorLine | None, now_ms: int) -> bytes:
        number = 1 if line is None or line.closed else line.next_number()
        good = self._bytes(chance, number, now_ms)
        match chance.randrange(8):
            case 0:
                return good[: chance.randrange(len(good))]
            case 1 | 2:
                return bent(good, chance)
            case 3:
                return good + _strange_frame(chance, number)
            case 4:
                return _strange_frame(chance, number) + good
            case 5:
                size = chance.choice((0, 1, 5 << 20, 6 << 20, 2**31, 2**32 - 1))
                wrong = chance.choice((b"\0", b"\1", b"\2", b"\xff")) + size.to_bytes(4, "big")
                path = SERVICE + chance.choice(RPCS)
                block = opened(number, [*head(path, {}), *self._fields(chance, "", "gzip")])
                return block + sent(number, wrong + chance.choice((b"", b"abc", self._last)))
            case 6:
                packed = bomb(chance.choice((1 << 20, 16 << 20)))[: chance.choice((None, -1, 20, 1000))]
                path = SERVICE + chance.choice(RPCS)
                block = opened(number, [*head(path, {}), *self._fields(chance, "", "gzip")])
                return block + sent(number, b"\1" + len(packed).to_bytes(4, "big") + packed)
        return _flood(chance, number)


def _prefixed(message: bytes, encoding: str, chance: Random, *, odd: bool) -> bytes:
    """`message` as it travels."""
    packed = encoding == "gzip" and values.flip(chance, 0.7)
    if packed:
        message = gzip.compress(message, 1)
    flag = chance.choice((0, 1, 2)) if odd and values.flip(chance, 0.1) else int(packed)
    size = len(message)
    if odd and values.flip(chance, 0.1):
        size = max(0, size + chance.choice((-1, 1, 100)))
    return bytes((flag,)) + size.to_bytes(4, "big") + message


def _strange_frame(chance: Random, number: int) -> bytes:
    stream = chance.choice((0, 1, 2, number, number + 2, 2**31 - 1))
    flags = chance.choice((0, 1, 4, 8, 0x20, 0xFF))
    kind = chance.choice(
        (DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE)
        if values.flip(chance, 0.8)
        else (CONTINUATION, 10, 255)
    )
    if values.flip(chance, 0.1):
        return frame_head(chance.choice((2**24 - 1, 16385, 1 << 14)), kind, flags, stream)
    body = chance.choice(
        (
            b"",
            b"\0" * 4,
            b"\0" * 8,
            b"\xff" * 4,
            b"\x7f\xff\xff\xff",
            b"\0\x04\0\0\0\0",  # no window at all
            b"\0\x04\xff\xff\xff\xff",
            b"\0\x05\0\0\0\0",
            b"\0\x01\xff\xff\xff\xff",
            chance.randbytes(chance.randrange(60)),
        )
    )
    return frame(kind, body, flags, stream)


def _flood(chance: Random, number: int) -> bytes:
    many = chance.choice((50, 900, 3000))
    path = SERVICE + chance.choice(("Telemetry", "Heartbeat"))
    match chance.randrange(5):
        case 0:
            return frame(PING, b"12345678") * many
        case 1:
            return frame(SETTINGS, b"\0\x04\0\0\xff\xff") * many
        case 2:
            return frame(HEADERS, b"\x82", 0, number) + frame(CONTINUATION, b"", 0, number) * many
        case 3:
            calls = [number + 2 * each for each in range(min(many, 900))]
            return b"".join(opened(each, head(path, {})) + reset(each) for each in calls)
    return opened(number, head(path, {})) + frame(DATA, b"", 0, number) * many


def _no_preface(chance: Random) -> bytes:
    return chance.choice(
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            PREFACE[:10],
            PREFACE,
            PREFACE * 2,
            PREFACE + b"\0" * 20,
            bent(PREFACE + frame(SETTINGS), chance),
            b"\x16\x03\x01\x02\x00" + chance.randbytes(100),
            b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + PREFACE,
            chance.randbytes(chance.choice((1, 50, 3000))),
            frame(SETTINGS, b"", END_HEADERS),
        )
    )
