"""Blocks of header fields (HPACK, RFC 7541): written without a table, and read by one of our own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final, Protocol

from mqframe_grpc.transport.frames import ErrorCode, HttpBroken

NO_TABLE: Final = b"\x20"
"""Begins the first block of a connection: no table is used, whatever the other side has room for."""
TABLE_BYTES: Final = 4096
"""What a table may take, as the protocol counts it, where nothing was said of it."""
_STATUS: Final = {200: b"\x88", 204: b"\x89", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"}
"""Those of the static table."""
_LONG: Final = 127
_ENTRY_BYTES: Final = 32
_KNOWN_TEXT: Final = """
:authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200
:status=204|:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset
accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow
authorization|cache-control|content-disposition|content-encoding|content-language|content-length
content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match
if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards
proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie
strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate
"""
"""The fields that both sides know, in their order. Source: RFC 7541, appendix A."""
_KNOWN: Final = (
    (("", ""), 0),  # they are counted from 1 on
    *(
        ((name, value), len(name) + len(value) + _ENTRY_BYTES)
        for name, _, value in (
            each.partition("=") for each in _KNOWN_TEXT.strip().replace("\n", "|").split("|")
        )
    ),
)
_FIRST_OF_TABLE: Final = len(_KNOWN)
_NUMBER_BYTES_MAX: Final = 5


def status_block(status: int) -> bytes:
    """The field `:status`."""
    return _STATUS.get(status) or b"\x08" + _text(b"%d" % status)


def block_of(fields: Iterable[tuple[str, str]]) -> bytes:
    """`fields` (ASCII), each as a literal that is not to be remembered: nothing a client makes a server say
    takes memory at either side."""
    return b"".join(b"\0" + _text(name.encode()) + _text(value.encode()) for name, value in fields)


def _text(raw: bytes) -> bytes:
    size = len(raw)
    if size < _LONG:
        return bytes((size,)) + raw
    head = bytearray((_LONG,))
    size -= _LONG
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + raw


class FieldReader:
    """Reads the blocks of one client, whose fields may refer to those before.

    `bytes_max`: longest list of fields, as the protocol counts it: 32 bytes for each besides its own.
    `table`: the fields that the client may refer to, the newest first, each with what it takes;
    `table_bytes`: what all of them take. `read_bytes`: the last list of fields, as it is counted.
    """

    __slots__ = ("_bytes_max", "_room", "read_bytes", "table", "table_bytes")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._room = TABLE_BYTES
        self.table: deque[tuple[tuple[str, str], int]] = deque()
        self.table_bytes = self.read_bytes = 0

    def read(self, data: bytes) -> list[tuple[str, str]]:
        """The fields in one block, in their order. What is no UTF-8 in a value becomes U+FFFD.

        Raises `HttpBroken`.
        """
        found, total, at, end, table = list[tuple[str, str]](), 0, 0, len(data), self.table
        try:
            while at < end:
                first = data[at]
                at += 1
                if first > 0x80:  # a whole field that is known
                    index = first & 0x7F
                    if index == 0x7F:
                        index, at = _number(data, at, index)
                    place = index - _FIRST_OF_TABLE
                    field, size = table[place] if place >= 0 else _KNOWN[index]
                elif first == 0x80:
                    raise _broken("there is no field 0")
                elif first & 0xE0 == 0x20:
                    at = self._resize(data, at, first & 0x1F, begun=bool(found))
                    continue
                else:
                    mask = 0x3F if first & 0x40 else 0x0F
                    index = first & mask
                    if index == mask:
                        index, at = _number(data, at, index)
                    if index:
                        place = index - _FIRST_OF_TABLE
                        name = (table[place] if place >= 0 else _KNOWN[index])[0][0]
                    else:
                        raw, at = _string(data, at)
                        name = raw.decode("latin-1")
                    size = data[at]
                    start = at + 1
                    if size < _LONG and start + size <= end:  # as most values are: not packed, and short
                        at = start + size
                        raw = data[start:at]
                    else:
                        raw, at = _string(data, at)
                    field, size = (name, raw.decode("utf-8", "replace")), len(name) + len(raw) + _ENTRY_BYTES
                    if first & 0x40:
                        self._remember(field, size)
                found.append(field)
                total += size
                if total > self._bytes_max:
                    raise _too_long(self._bytes_max)
        except IndexError:
            raise _broken("header fields are cut off, or name one that is not in the table") from None
        self.read_bytes = total
        return found

    def _remember(self, field: tuple[str, str], size: int) -> None:
        """The newest field of the table; as many of the oldest are forgotten."""
        table = self.table
        if size > self._room:
            table.clear()
            self.table_bytes = 0
            return
        table.appendleft((field, size))
        self.table_bytes += size
        while self.table_bytes > self._room:
            self.table_bytes -= table.pop()[1]

    def _resize(self, data: bytes, at: int, size: int, *, begun: bool) -> int:
        if size == 0x1F:
            size, at = _number(data, at, size)
        if begun:
            raise _broken("the table changes its size within header fields")
        if size > TABLE_BYTES:
            raise _broken(f"a table of {size} bytes; at most {TABLE_BYTES} are kept")
        self._room = size
        while self.table_bytes > size:
            self.table_bytes -= self.table.pop()[1]
        return at


class ReadsFields(Protocol):
    """What `FieldReader` does."""

    @property
    def read_bytes(self) -> int:
        """The last list of fields, as it is counted."""

    def read(self, data: bytes, /) -> list[tuple[str, str]]:
        """As `FieldReader.read`."""


MakeReader = Callable[[int], ReadsFields]
"""Makes the reader of one client, given the longest list of fields."""


def made_by(compiled: Callable[..., ReadsFields]) -> MakeReader:
    """What makes readers of the class `compiled`, that of `mqframe-speedups`."""
    return lambda bytes_max: compiled(bytes_max, TABLE_BYTES, _KNOWN, _broken, _too_long, _unpacked)


def _broken(text: str) -> HttpBroken:
    return HttpBroken(ErrorCode.COMPRESSION_ERROR, text)


def _too_long(bytes_max: int) -> HttpBroken:
    return HttpBroken(ErrorCode.ENHANCE_YOUR_CALM, f"header fields of over {bytes_max} bytes")


def _number(data: bytes, at: int, start: int) -> tuple[int, int]:
    for place in range(_NUMBER_BYTES_MAX):
        byte = data[at + place]
        start += (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return start, at + place + 1
    raise _broken("a number without end in header fields")


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    first = data[at]
    size = first & 0x7F
    at += 1
    if size == 0x7F:
        size, at = _number(data, at, size)
    end = at + size
    text = data[at:end]
    if len(text) != size:
        raise _broken("header fields are cut off")
    return (text if first < 0x80 else _unpacked(text)), end


def _unpacked(text: bytes) -> bytes:
    unpack, problems = _huffman()
    try:
        return bytes(unpack(text))
    except problems as problem:
        raise _broken(f"packed text in header fields cannot be read: {problem}") from None


@cache
def _huffman() -> tuple[Callable[[bytes], bytes], type[Exception]]:
    """What unpacks text, and raises what; loaded for clients that pack, as it takes its time."""
    from hpack import HPACKDecodingError
    from hpack.huffman_table import decode_huffman

    return decode_huffman, HPACKDecodingError
