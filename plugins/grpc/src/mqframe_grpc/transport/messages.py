"""Messages in the bytes of one call: a flag, a length, and so many bytes (gRPC's length-prefixed message)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mqframe_grpc.transport.frames import FRAME_BYTES_MAX
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

PREFIX_BYTES: Final = 5
_GZIP: Final = 16 + zlib.MAX_WBITS
_PLAIN: Final = 0
_PACKED: Final = 1


def framed(message: bytes) -> bytes:
    """`message` as it travels."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def together(answers: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """`answers`, as they travel, as many in one as all clients take in a frame: they pay for each frame.

    With each goes how many of them have come by then.
    """
    held, size, count = list[bytes](), 0, 0
    for answer in answers:
        if held and size + len(answer) > FRAME_BYTES_MAX:
            yield count, b"".join(held)
            held.clear()
            size = 0
        held.append(answer)
        size += len(answer)
        count += 1
    if held:
        yield count, b"".join(held)


class WholeMessage(NamedTuple):
    """One message. `content`: unpacked; `wire_bytes`: as many it took of the call's bytes."""

    content: bytes
    wire_bytes: int


class IncomingMessages:
    """Takes the messages of one call out of what arrives.

    `encoding`: the call's `grpc-encoding`; `bytes_max`: longest message, before and after unpacking.
    """

    __slots__ = ("_bytes_max", "_encoding", "_start", "_waiting")

    def __init__(self, encoding: str, bytes_max: int) -> None:
        self._encoding = encoding
        self._bytes_max = bytes_max
        self._waiting = bytearray()
        self._start = 0

    @property
    def partial_bytes(self) -> int:
        """Bytes that came, and were not taken with a message."""
        return len(self._waiting) - self._start

    def take_only(self, data: bytes) -> bytes | None:
        """The message that `data`, more of the call's bytes, is the whole of, as most are; `None`: it is not,
        or `take` has to look at it. It is to be fed then."""
        size = len(data) - PREFIX_BYTES
        if self._waiting or data[0] or int.from_bytes(data[1:PREFIX_BYTES], "big") != size:
            return None
        return None if size > self._bytes_max else data[PREFIX_BYTES:]

    def feed(self, data: bytes) -> None:
        """More of the call's bytes."""
        self._waiting += data

    def drop(self) -> None:
        """Nobody wants what came."""
        self._waiting.clear()
        self._start = 0

    def take(self) -> WholeMessage | None:
        """The next message that is whole; `None`: more has to come first.

        Raises `GrpcError` for one that cannot be unpacked, and, by its first bytes, for one that is too long;
        nothing can be taken after that.
        """
        waiting, start = self._waiting, self._start
        first = start + PREFIX_BYTES
        if len(waiting) >= first:
            size = int.from_bytes(waiting[start + 1 : first], "big")
            if size > self._bytes_max:
                raise self._too_long(f"of {size} bytes")
            end = first + size
            if len(waiting) >= end:
                with memoryview(waiting) as view:
                    content = bytes(view[first:end])
                flag = waiting[start]
                self._start = end
                return WholeMessage(self._unpacked(flag, content), PREFIX_BYTES + size)
        if start:
            del waiting[:start]
            self._start = 0
        return None

    def _unpacked(self, flag: int, message: bytes) -> bytes:
        if flag == _PLAIN:
            return message
        if flag != _PACKED:
            raise GrpcError(GrpcStatus.INTERNAL, f"a message begins with {flag}; 0 and 1 are known")
        if self._encoding == "identity":
            raise GrpcError(GrpcStatus.INTERNAL, "a message is said to be packed, by a call that packs none")
        if self._encoding != "gzip":
            raise GrpcError(
                GrpcStatus.UNIMPLEMENTED,
                f"a message is packed by {self._encoding[:40]!r}; gzip and identity are read",
            )
        unpacker = zlib.decompressobj(wbits=_GZIP)
        try:
            # One byte more than is read: the end of one that is just as long is still looked at.
            found = unpacker.decompress(message, self._bytes_max + 1)
        except zlib.error as problem:
            raise GrpcError(GrpcStatus.INTERNAL, f"a message is no gzip: {problem}") from None
        if len(found) > self._bytes_max:
            raise self._too_long("that unpacks to more")
        if not unpacker.eof:
            raise GrpcError(GrpcStatus.INTERNAL, "a message is a gzip that was cut off")
        if unpacker.unused_data:
            raise GrpcError(GrpcStatus.INTERNAL, "a message goes on after the end of its gzip")
        return found

    def _too_long(self, what: str) -> GrpcError:
        return GrpcError(
            GrpcStatus.RESOURCE_EXHAUSTED, f"a message {what}; at most {self._bytes_max} bytes are read"
        )
