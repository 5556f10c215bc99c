"""Messages in the bytes of one call: a flag, a length, and so many bytes (gRPC's length-prefixed message)."""

from __future__ import annotations

import zlib
from typing import Final

from mqframe_grpc.transport.status import GrpcError, GrpcStatus

PREFIX_BYTES: Final = 5
_GZIP: Final = 16 + zlib.MAX_WBITS


def framed(message: bytes) -> bytes:
    """`message` as it travels."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class Incoming:
    """Takes the messages of one call out of what arrives.

    `encoding`: the call's `grpc-encoding`; `bytes_max`: longest message, before and after unpacking.
    """

    __slots__ = ("_bytes_max", "_encoding", "_waiting")

    def __init__(self, encoding: str, bytes_max: int) -> None:
        self._encoding = encoding
        self._bytes_max = bytes_max
        self._waiting = bytearray()

    @property
    def partial_bytes(self) -> int:
        """Bytes of a message that has not wholly arrived."""
        return len(self._waiting)

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole now.

        Raises `GrpcError` for one that cannot be unpacked, and, by its first bytes, for one that is too long.
        """
        waiting = self._waiting
        if not waiting and len(data) >= PREFIX_BYTES:
            size = int.from_bytes(data[1:PREFIX_BYTES], "big")
            if len(data) == PREFIX_BYTES + size and size <= self._bytes_max:  # as nearly all come
                return [self._unpacked(data[0], data[PREFIX_BYTES:])]
        waiting += data
        found: list[bytes] = []
        while len(waiting) >= PREFIX_BYTES:
            size = int.from_bytes(waiting[1:PREFIX_BYTES], "big")
            if size > self._bytes_max:
                raise self._too_long(f"of {size} bytes")
            if len(waiting) < PREFIX_BYTES + size:
                break
            found.append(self._unpacked(waiting[0], bytes(waiting[PREFIX_BYTES : PREFIX_BYTES + size])))
            del waiting[: PREFIX_BYTES + size]
        return found

    def _unpacked(self, flag: int, message: bytes) -> bytes:
        if flag == 0:
            return message
        if flag != 1 or self._encoding not in ("gzip", "identity"):
            raise GrpcError(
                GrpcStatus.UNIMPLEMENTED,
                f"a message packed by {self._encoding[:40]!r}, flag {flag}; gzip and identity are read",
            )
        if self._encoding == "identity":
            raise GrpcError(GrpcStatus.INTERNAL, "a message is said to be packed, by a call that packs none")
        unpacker = zlib.decompressobj(wbits=_GZIP)
        try:
            found = unpacker.decompress(message, self._bytes_max)
        except zlib.error as problem:
            raise GrpcError(GrpcStatus.INTERNAL, f"a message is no gzip: {problem}") from None
        if unpacker.unconsumed_tail:
            raise self._too_long("that unpacks to more")
        if not unpacker.eof:
            raise GrpcError(GrpcStatus.INTERNAL, "a message is a gzip that was cut off")
        return found

    def _too_long(self, what: str) -> GrpcError:
        return GrpcError(
            GrpcStatus.RESOURCE_EXHAUSTED, f"a message {what}; at most {self._bytes_max} bytes are read"
        )
