"""One connection to a door in a simulated network: frames of HTTP/2 made by hand, and what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple

from hpack import Decoder, Encoder
from mqframe_grpc.transport.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame_head,
)
from mqframe_testing.simulation import SimulatedLoop

WINDOW_BYTES: Final = 64 << 20
"""Room for answers that each connection and each of its calls has."""
FRAME_BYTES: Final = 16_000
CANCEL: Final = 8
_HEAD: Final = Struct(">HBBBL")
_KNOWN: Final = {DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE}
_WINDOW_SETTING: Final = 4

Fields = Iterable[tuple[bytes, bytes]]


class Frame(NamedTuple):
    """One frame, as it came or was sent."""

    kind: int
    flags: int
    number: int
    body: bytes


class Frames:
    """Cuts bytes into frames."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def take(self, data: bytes) -> Iterator[Frame]:
        """Those that are whole with `data`."""
        waiting = self._waiting
        waiting += data
        while len(waiting) >= _HEAD.size:
            high, low, kind, flags, number = _HEAD.unpack_from(waiting)
            end = _HEAD.size + (high << 8 | low)
            if len(waiting) < end:
                return
            body = bytes(waiting[_HEAD.size : end])
            del waiting[:end]
            yield Frame(kind, flags, number, body)


def frame(kind: int, body: bytes = b"", flags: int = 0, number: int = 0) -> bytes:
    """A frame's bytes."""
    return frame_head(len(body), kind, flags, number) + body


def opened(number: int, fields: Fields, *, end: bool = False, huffman: bool = False) -> bytes:
    """The head of a call."""
    block = Encoder().encode(list(fields), huffman=huffman)
    pieces = [block[at : at + FRAME_BYTES] for at in range(0, len(block), FRAME_BYTES)] or [b""]
    found = b""
    for place, piece in enumerate(pieces):
        flags = END_HEADERS if place == len(pieces) - 1 else 0
        kind = CONTINUATION if place else HEADERS
        found += frame(kind, piece, flags | (END_STREAM if end and not place else 0), number)
    return found


def sent(number: int, data: bytes, *, end: bool = True) -> bytes:
    """More of a call."""
    pieces = [data[at : at + FRAME_BYTES] for at in range(0, len(data), FRAME_BYTES)] or [b""]
    return b"".join(
        frame(DATA, piece, END_STREAM if end and place == len(pieces) else 0, number)
        for place, piece in enumerate(pieces, 1)
    )


def reset(number: int) -> bytes:
    """A call is given up."""
    return frame(RST_STREAM, CANCEL.to_bytes(4, "big"), 0, number)


class Asked:
    """One call, and what came for it.

    `path`: of its method, "" where its head was not understood; `whole`: all was sent; `given_up`: it was
    reset by the client; `fields`: of the head of the answer and its end; `over`: it has ended, or was reset;
    `seen`: somebody has looked at that.
    """

    def __init__(self) -> None:
        self.path = ""
        self.whole = self.given_up = self.over = False
        self.was_reset = self.seen = False
        self.fields: dict[str, str] = {}
        self.raw = b""

    @property
    def answers(self) -> list[bytes]:
        """The messages that came. Raises `AssertionError` for what is none."""
        found, at = [], 0
        while at < len(self.raw):
            assert self.raw[at] == 0, "an answer is packed"
            size = int.from_bytes(self.raw[at + 1 : at + 5], "big")
            found.append(self.raw[at + 5 : at + 5 + size])
            at += 5 + size
        assert at == len(self.raw), "half an answer"
        return found


class DoorLine(asyncio.Protocol):
    """A connection to the door on `port`.

    `greets`: it begins as one of HTTP/2 does. `broken`: bytes were sent that no client sends, so nothing is
    expected of the calls on it; `asked`: its calls, by stream.
    """

    def __init__(self, loop: SimulatedLoop, port: int, *, greets: bool = True) -> None:
        self.closed = False
        self.broken = not greets
        self.is_deaf = False
        self.asked: dict[int, Asked] = {}
        self.number = 1
        self.wake: asyncio.Event | None = None
        self._came, self._went = Frames(), Frames()
        self._decoder, self._mirror = Decoder(), Decoder()
        self._taken = 0
        self._block = b""
        self._transport: Any
        self._transport, _ = loop.network.connect(lambda: self, port)
        if greets:
            window = _WINDOW_SETTING.to_bytes(2, "big") + WINDOW_BYTES.to_bytes(4, "big")
            more = (WINDOW_BYTES - 65535).to_bytes(4, "big")
            self._transport.write(PREFACE + frame(SETTINGS, window) + frame(WINDOW_UPDATE, more))

    def next_number(self) -> int:
        """The number of a new call."""
        self.number += 2
        return self.number - 2

    # What is sent

    def send(self, data: bytes, *, broken: bool = False) -> None:
        """Send `data`: whole frames as clients send them, or `broken` ones."""
        self.broken |= broken
        if not self.broken:
            for each in self._went.take(data):
                self._note(each)
        self._transport.write(data)

    def _note(self, each: Frame) -> None:
        if each.kind in (HEADERS, CONTINUATION):
            if each.kind == HEADERS:
                call = self.asked.setdefault(each.number, Asked())
                call.whole |= bool(each.flags & END_STREAM)
                self.number = max(self.number, each.number + 2)
            self._block += each.body
            if each.flags & END_HEADERS:
                fields = dict(self._mirror.decode(self._block, raw=True))
                self.asked[each.number].path = fields.get(b":path", b"").decode("utf-8", "replace")
                self._block = b""
        elif each.kind == DATA and each.flags & END_STREAM and each.number in self.asked:
            self.asked[each.number].whole = True
        elif each.kind == RST_STREAM and each.number in self.asked:
            self.asked[each.number].given_up = True

    def deaf(self, yes: bool) -> None:
        """Whether answers are left lying."""
        self.is_deaf = yes
        if not self.closed:
            (self._transport.pause_reading if yes else self._transport.resume_reading)()

    def close(self) -> None:
        self.closed = True
        self._transport.close()

    # What comes

    def data_received(self, data: bytes) -> None:
        for each in self._came.take(data):
            if not self.broken:
                assert each.kind in _KNOWN, f"the door wrote a frame of kind {each.kind}"
            self._take(each)
        if self.wake is not None:
            self.wake.set()

    def _take(self, each: Frame) -> None:
        if each.kind == PING and not each.flags & ACK:
            self._transport.write(frame(PING, each.body, ACK))
        elif each.kind == SETTINGS and not each.flags & ACK:
            self._transport.write(frame(SETTINGS, b"", ACK))
        elif each.kind == DATA:
            self._taken += len(each.body)
            if self._taken > WINDOW_BYTES // 4:
                self._transport.write(frame(WINDOW_UPDATE, self._taken.to_bytes(4, "big")))
                self._taken = 0
        call = self.asked.get(each.number)
        if call is None:
            if each.kind == HEADERS:
                self._decoder.decode(each.body)
            return
        if each.kind == HEADERS:
            call.fields |= dict(self._texts(each.body))
        elif each.kind == DATA:
            call.raw += each.body
        elif each.kind == RST_STREAM:
            call.was_reset = call.over = True
        if each.kind in (HEADERS, DATA) and each.flags & END_STREAM:
            call.over = True

    def _texts(self, block: bytes) -> Iterable[tuple[str, str]]:
        return [(str(name), str(value)) for name, value in self._decoder.decode(block)]

    def connection_lost(self, problem: Exception | None) -> None:
        self.closed = True
        if self.wake is not None:
            self.wake.set()

    def pause_writing(self) -> None:
        """The door does not read; what is sent waits."""

    def resume_writing(self) -> None:
        """The door reads again."""


def head(path: str, fields: Mapping[str, str | bytes]) -> list[tuple[bytes, bytes]]:
    """The header fields of a call of gRPC; `fields` come after the usual ones, or in their place."""
    usual: dict[str, str | bytes] = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "door",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    return [
        (name.encode(), value if isinstance(value, bytes) else value.encode("utf-8", "replace"))
        for name, value in (usual | dict(fields)).items()
    ]
