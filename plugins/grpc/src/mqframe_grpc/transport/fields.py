"""Blocks of header fields (HPACK, RFC 7541): written without a table, and read by that of `hpack`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hpack import Decoder, HPACKDecodingError, InvalidTableIndexError, OversizedHeaderListError
from hpack.exceptions import InvalidTableSizeError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

NO_TABLE: Final = b"\x20"
"""Begins the first block of a connection: no table is used, whatever the other side has room for."""
_STATUS: Final = {200: b"\x88", 204: b"\x89", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"}
"""Those of the static table."""
_LONG: Final = 127
_STATIC: Final = HeaderTable.STATIC_TABLE
_STATIC_LENGTH: Final = len(_STATIC)
_ENTRY_BYTES: Final = 32
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


class FieldReader(Decoder):
    """hpack's decoder, with its tables and bounds, in one loop: each call brings a dozen fields along."""

    def decode(self, data: bytes, raw: bool = False) -> list[tuple[bytes, bytes]]:  # type: ignore[override]
        """The fields in one block; always as bytes. Raises errors of `hpack`."""
        table, found, total, at, end = self.header_table, list[tuple[bytes, bytes]](), 0, 0, len(data)
        try:
            while at < end:
                first = data[at]
                at += 1
                if first & 0x80:  # a whole field of the table
                    index = first & 0x7F
                    if index == 0x7F:
                        index, at = _number(data, at, index)
                    field = self._entry(index)
                elif first & 0xE0 == 0x20:
                    at = self._resize(data, at, first & 0x1F, begun=bool(found))
                    continue
                else:
                    mask = 0x3F if first & 0x40 else 0x0F
                    index = first & mask
                    if index == mask:
                        index, at = _number(data, at, index)
                    if index:
                        name = self._entry(index)[0]
                    else:
                        name, at = _string(data, at)
                    value, at = _string(data, at)
                    field = name, value
                    if first & 0x40:
                        table.add(name, value)
                found.append(field)
                total += _ENTRY_BYTES + len(field[0]) + len(field[1])
                if total > self.max_header_list_size:
                    raise OversizedHeaderListError(f"header fields of over {self.max_header_list_size} bytes")
        except IndexError:
            raise HPACKDecodingError("header fields are cut off") from None
        if table.maxsize > self.max_allowed_table_size:
            raise InvalidTableSizeError("the table did not become as small as it was to be")
        return found

    def _entry(self, index: int) -> tuple[bytes, bytes]:
        if 0 < index <= _STATIC_LENGTH:
            return _STATIC[index - 1]
        entries = self.header_table.dynamic_entries
        place = index - _STATIC_LENGTH - 1
        if not 0 <= place < len(entries):
            raise InvalidTableIndexError(f"the table has no field {index}")
        return entries[place]

    def _resize(self, data: bytes, at: int, size: int, *, begun: bool) -> int:
        if size == 0x1F:
            size, at = _number(data, at, size)
        if begun:
            raise HPACKDecodingError("the table changes its size within header fields")
        if size > self.max_allowed_table_size:
            raise InvalidTableSizeError(
                f"a table of {size} bytes; at most {self.max_allowed_table_size} are kept"
            )
        self.header_table.maxsize = size
        return at


def _number(data: bytes, at: int, start: int) -> tuple[int, int]:
    for place in range(_NUMBER_BYTES_MAX):
        byte = data[at + place]
        start += (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return start, at + place + 1
    raise HPACKDecodingError("a number without end in header fields")


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    first = data[at]
    size = first & 0x7F
    at += 1
    if size == 0x7F:
        size, at = _number(data, at, size)
    end = at + size
    text = data[at:end]
    if len(text) != size:
        raise HPACKDecodingError("header fields are cut off")
    return (decode_huffman(text) if first & 0x80 else text), end
