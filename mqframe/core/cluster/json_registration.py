"""A long registration in JSON, read member by member: as a whole, 16 MiB of it can take seconds.

What is not looked at is only skipped, by its brackets. Numbers as keys, which Java writes without quotes in
the mappings of queues, are taken; other dialects are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any, Final

import msgspec

from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.errors import BodyError
from mqframe.core.wire.bodies import DataVersion

VALUE_BYTES_MAX: Final = 256 * 1024
"""Longest value that is read in one piece: the mapping of a topic with some 20,000 queues."""
STEP_BYTES: Final = 256
"""A value counts as a step more for each so many bytes: those who take turns by steps keep to time so."""
_DEPTH: Final = 8

# Possessive throughout: nothing is tried twice, however it is nested.
_TEXT: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT: Final = rb'[^\[\]{}"]*+(?:%b[^\[\]{}"]*+)*+' % _TEXT


def _within(depth: int) -> bytes:
    """What may stand between two brackets that have at most `depth` others within each other."""
    return rb"%b(?:[\[{]%b[\]}]%b)*+" % (_FLAT, _within(depth - 1), _FLAT) if depth else _FLAT


_KEY: Final = re.compile(rb"\s*+(%b|\d++)\s*+:\s*+" % _TEXT, re.DOTALL)
_VALUE: Final = re.compile(rb'[\[{]%b[\]}]|%b|[^\[\]{}",\s]++' % (_within(_DEPTH), _TEXT), re.DOTALL)
_OPEN: Final = re.compile(rb"\s*+\{(\s*+\})?+")
_NULL: Final = re.compile(rb"\s*+null\b")
_NEXT: Final = re.compile(rb"\s*+([,}])")
_NUMBER_KEY: Final = re.compile(rb"(%b)|([{,]\s*+)(\d++)(?=\s*+:)" % _TEXT, re.DOTALL)

_text: Final = msgspec.json.Decoder(str).decode
_servers: Final = msgspec.json.Decoder(list[str] | None).decode
_version: Final = msgspec.json.Decoder(DataVersion, strict=False).decode
_topic: Final = msgspec.json.Decoder(TopicConfig, strict=False).decode
_mapping: Final = msgspec.json.Decoder(dict[str, Any]).decode

Steps = Iterator[tuple[str, TopicConfig] | None]
"""The topics by name, and `None` for other work of about the same size."""


def json_steps(data: bytes, body: RegisterBrokerBody) -> Steps:
    """The topics of the registration `data` one by one; behind the last one `body` has the rest.

    Raises `BodyError`, for a value longer than `VALUE_BYTES_MAX`, too.
    """
    reader = _Reader(data)
    try:
        for name in reader.members():
            if name == "filterServerList":
                body.filter_server_list = _servers(reader.value()) or []
            elif name == "topicConfigSerializeWrapper":
                yield from _read_table(reader, body.topic_config_serialize_wrapper)
            else:
                yield from reader.passed()
        if data[reader.at :].strip():
            raise reader.problem("something follows the object")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise reader.problem(str(problem)) from None


def _read_table(reader: _Reader, table: TopicConfigTable) -> Steps:
    for name in reader.members():
        if name == "dataVersion":
            table.data_version = _version(reader.value())
        elif name == "topicConfigTable":
            for topic in reader.members():
                value = reader.value()
                yield topic, _topic(value)
                yield from repeat(None, len(value) // STEP_BYTES)
        elif name == "topicQueueMappingInfoMap":
            if reader.is_null():
                continue
            table.topic_queue_mapping_info_map = mappings = {}
            for topic in reader.members():
                value = reader.value()
                mappings[topic] = _read_mapping(value)
                yield from repeat(None, 1 + len(value) // STEP_BYTES)
        else:
            yield from reader.passed()


def _read_mapping(value: bytes) -> dict[str, Any]:
    try:
        return _mapping(value)
    except msgspec.DecodeError:  # perhaps for its numbers
        return _mapping(_NUMBER_KEY.sub(lambda found: found[1] or b'%b"%b"' % (found[2], found[3]), value))


class _Reader:
    """A place in a text of JSON: `at`, in bytes."""

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def problem(self, what: str) -> BodyError:
        """What to raise about the value that was read last, or is expected here."""
        return BodyError(f"registration in JSON, byte {self.at} of {len(self._data)}: {what}")

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; whoever gets one reads its value before the next."""
        if self.is_null():
            return
        opened = self._match(_OPEN, "an object is expected")
        if opened[1] is not None:
            return
        while True:
            key = self._match(_KEY, "a key is expected")[1]
            yield _text(key) if key[:1] == b'"' else key.decode()
            if self._match(_NEXT, "',' or '}' is expected")[1] == b"}":
                return

    def value(self) -> bytes:
        """The value that is here, as it is written."""
        end = self.at + VALUE_BYTES_MAX
        found = _VALUE.match(self._data, self.at, end)
        if found is None:
            raise self.problem(
                f"no value, or one that is nested deeper than {_DEPTH} or longer than {VALUE_BYTES_MAX} bytes"
            )
        self.at = found.end()
        return found[0]

    def is_null(self) -> bool:
        """Whether there is none here; then it was read."""
        found = _NULL.match(self._data, self.at)
        if found is None:
            return False
        self.at = found.end()
        return True

    def passed(self) -> Iterator[None]:
        """Skip the value that is here, in steps."""
        if self._data[self.at : self.at + 1] != b"{":
            yield from repeat(None, len(self.value()) // STEP_BYTES)
            return
        for _ in self.members():
            yield from repeat(None, 1 + len(self.value()) // STEP_BYTES)

    def _match(self, pattern: re.Pattern[bytes], expected: str) -> re.Match[bytes]:
        found = pattern.match(self._data, self.at, self.at + VALUE_BYTES_MAX)
        if found is None:
            raise self.problem(expected)
        self.at = found.end()
        return found
