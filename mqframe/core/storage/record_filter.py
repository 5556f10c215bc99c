"""Filters over the properties of stored records, which are not decoded any further."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol, runtime_checkable

from mqframe.core.codes import SysFlag
from mqframe.core.messages.properties import NAME_END, PAIR_END, decode_properties, find_property
from mqframe.core.storage.record import MAGIC_V1, head_of, parts_of

RecordFilter = Callable[["bytes | bytearray | memoryview"], bool]
"""Whether the reader wants this record; it is handed all the bytes of exactly one."""


@runtime_checkable
class RecordsAhead(Protocol):
    """A `RecordFilter` that looks at many records in one go."""

    def look_ahead(
        self,
        number: int,
        picked: list[tuple[int, int, int]],
        size: int,
        entries: bytes,
        limits: tuple[int, int],
        queue_id: int,
        log_start: int,
        window: tuple[memoryview, int, int],
    ) -> tuple[int, int]:
        """Look at the records that `entries` of a queue list, from entry `number` on.

        Each that is wanted goes into `picked`: its number, log offset, size. `size`: bytes of all in there.
        `window`: a part of the log, the log offset at which it begins, and the one behind which no record in
        it ends. Returns how many entries are done with, and the new size. It ends before an entry that is
        not plainly one of queue `queue_id` whose record is in the window at `log_start` or behind, and
        before more than `limits` (records, bytes) would be picked.
        """


_HEAD: Final = struct.Struct(">4xi28xi44xi")
"""Magic, sys flag and body length of a record with IPv4 hosts."""
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6


class RecordProperties(Mapping[str, str]):
    """Properties in their text form, of which single ones are looked up without splitting the rest."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """The value of `name`."""
        # Most often the last place where the name stands is the one; this is asked for every message.
        text = self.text
        at = text.rfind(name + NAME_END)
        if at < 0:
            return default
        if at == 0 or text[at - 1] == PAIR_END:
            start = at + len(name) + 1
            end = text.find(PAIR_END, start)
            if end > start:
                return text[start:end]
        value = find_property(text, name)
        return default if value is None else value

    def __getitem__(self, name: str) -> str:
        value = find_property(self.text, name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(decode_properties(self.text))

    def __len__(self) -> int:
        return len(decode_properties(self.text))


def properties_text(record: bytes | bytearray | memoryview) -> str:
    """The properties of `record` in their text form; its body is not touched."""
    fields, body = head_of(record, 0)
    _, start, _ = parts_of(record, body + fields[14], fields[1])
    return str(record[start:], "utf-8", "replace")


def record_filter(
    matches: Callable[[Mapping[str, str]], bool], failed: Callable[[Exception], object] | None = None
) -> RecordFilter:
    """A filter of records by a condition on their properties.

    `failed`: called when the condition raises, or the record cannot be read; such a record is not wanted.
    Without it the error goes on.
    """
    unpack = _HEAD.unpack_from
    # Looked at during the call only. Threads that read for pulls ask at the same time.
    spare: list[RecordProperties] = []

    def wanted(record: bytes | bytearray | memoryview) -> bool:
        try:
            magic, sys_flag, body_length = unpack(record)
            if magic != MAGIC_V1 or sys_flag & _V6:
                text = properties_text(record)
            else:
                at = 88 + body_length
                text = str(record[at + 3 + record[at] :], "utf-8", "replace")
            try:
                properties = spare.pop()
            except IndexError:
                properties = RecordProperties("")
            properties.text = text
            verdict = matches(properties)
            spare.append(properties)
            return verdict
        except Exception as problem:  # isolation boundary: the condition is a plugin's
            if failed is None:
                raise
            failed(problem)
            return False

    return wanted
