"""What name servers keep of a topic's schemas: each version that there was, and what is in force now.

Two namespaces of their key-value tables hold it. `NAMESPACE` has an entry for each topic, small enough for
all clients to look at all of them again and again; that of `versions_of(topic)` has the versions by number.
Name servers do not tell each other what they are told, and one may have been away, or have lost what it kept:
so what all of them say is put together, and the entry that was changed most often counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from mqframe.core.errors import FixError
from mqframe_schemas.rules.compatibility import Rule

T = TypeVar("T")
NAMESPACE: Final = "MQFRAME_SCHEMAS"
VERSION_PROPERTY: Final = "schemaVersion"
"""Property of messages: the number of the version that the body was written by."""
VALUE_BYTES_MAX: Final = 200_000
"""Longest value, as JSON has it: it travels in the header of a request, of which servers read 256 KiB."""


class SchemaVersion(msgspec.Struct, frozen=True):
    """One version of a topic's schema.

    `number`: from 1 on, never given twice; `format`: "json", "avro" or "protobuf"; `text`: JSON, or for
    Protocol Buffers a `FileDescriptorSet` in base64; `name`: of the record or message type, "" where it has
    none.
    """

    number: int
    format: str
    text: str
    name: str = ""


class SchemaHead(msgspec.Struct, frozen=True):
    """What counts for a topic now.

    `latest`: the version that producers write by, 0: no schema is asked of them any more; `since`: the oldest
    version that a new one is compared with; `change`: how often all this was changed.
    """

    latest: int
    rule: Rule = Rule.BACKWARD
    since: int = 1
    change: int = 1


class SchemaHistory(msgspec.Struct, frozen=True):
    """The schemas of `topic`, the oldest version first; `head`: `None` where it never had one."""

    topic: str
    head: SchemaHead | None = None
    versions: tuple[SchemaVersion, ...] = ()

    @property
    def latest(self) -> SchemaVersion | None:
        """The version that producers write by, `None` where none is asked of them."""
        return None if self.head is None else self.version(self.head.latest)

    def version(self, number: int) -> SchemaVersion | None:
        """The version of that number."""
        return self.version_said(str(number))

    def version_said(self, text: str) -> SchemaVersion | None:
        """The version that the property of a message names, whatever that holds."""
        return next((each for each in self.versions if str(each.number) == text), None)

    @property
    def compared(self) -> tuple[SchemaVersion, ...]:
        """The versions that a new one is held against."""
        return tuple(
            each for each in self.versions if self.head is not None and each.number >= self.head.since
        )

    def needed(self) -> SchemaVersion:
        """The version in force. Raises `FixError` where there is none, or where it got lost."""
        found = self.latest
        if found is not None:
            return found
        if self.head is not None and self.head.latest:
            raise FixError(
                f"topic {self.topic}: name servers have lost version {self.head.latest} of its schema; set it"
                " again"
            )
        raise FixError(
            f"topic {self.topic} has no schema; set one with: mqframe schema set {self.topic} FILE"
        )


def versions_of(topic: str) -> str:
    """The namespace of the versions of `topic`."""
    return f"{NAMESPACE}/{topic}"


def text_of(value: SchemaHead | SchemaVersion) -> str:
    """The value that a name server is to keep."""
    return msgspec.json.encode(value).decode()


def value_bytes(value: SchemaHead | SchemaVersion) -> int:
    """What it takes in the header of a request, where it is a text in JSON."""
    return len(msgspec.json.encode(text_of(value)))


def merged_heads(tables: Iterable[Mapping[str, str]]) -> dict[str, SchemaHead]:
    """The entry of each topic, of what all name servers keep. Raises `FixError` for one that is none."""
    found: dict[str, SchemaHead] = {}
    for table in tables:
        for topic, text in table.items():
            head = _read(text, SchemaHead, topic)
            if topic not in found or head.change > found[topic].change:
                found[topic] = head
    return found


def merged_versions(topic: str, tables: Iterable[Mapping[str, str]]) -> tuple[SchemaVersion, ...]:
    """The versions of `topic` by number, of what all name servers keep. Raises `FixError` as above."""
    found: dict[int, SchemaVersion] = {}
    for table in tables:
        for text in table.values():
            version = _read(text, SchemaVersion, topic)
            found.setdefault(version.number, version)
    return tuple(found[number] for number in sorted(found))


def next_history(history: SchemaHistory, new: SchemaVersion | None, rule: Rule, since: int) -> SchemaHistory:
    """What comes after `history`: with the version `new` in force, or with none in force any more."""
    before = 0 if history.head is None else history.head.change
    latest = 0 if new is None else new.number
    versions = history.versions
    if new is not None and history.version(new.number) is None:
        versions = (*versions, new)
    return SchemaHistory(history.topic, SchemaHead(latest, rule, since, before + 1), versions)


def _read(text: str, kind: type[T], topic: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise FixError(
            f"what a name server keeps as a schema of topic {topic} is none: {problem}; was it written by a"
            " later version of this plugin?"
        ) from problem
