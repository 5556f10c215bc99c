"""Schemas of topics as name servers keep them (`mqframe-plugin-schemas` has them do so)."""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

import msgspec

from mqframe.core.errors import MqframeError
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.view import Link, Links, Part, Text, link

T = TypeVar("T")
NAMESPACE: Final = "MQFRAME_SCHEMAS"


class KeptHead(msgspec.Struct, frozen=True):
    """What counts for a topic: the version in force (0: none), the rule, and since when it counts."""

    latest: int
    rule: str = "backward"
    since: int = 1


class KeptVersion(msgspec.Struct, frozen=True):
    """One version. `text`: JSON, or for Protocol Buffers a descriptor set in base64."""

    format: str
    text: str
    name: str = ""


async def kept_heads(asking: Asking) -> dict[str, KeptHead]:
    """What counts for each topic that has, or had, a schema, by name. Raises as `Asking.ask`."""
    return _read(await asking.ask(asking.admin.kv.list, NAMESPACE), KeptHead)


async def kept_versions(asking: Asking, topic: str) -> dict[int, KeptVersion]:
    """All versions of a topic's schema, by number. Raises as `Asking.ask`."""
    found = _read(await asking.ask(asking.admin.kv.list, f"{NAMESPACE}/{topic}"), KeptVersion)
    return {int(number): found[number] for number in found if number.isdecimal()}


async def schema_parts(asking: Asking, topic: str) -> list[Part]:
    """The version that is in force, with its rule; nothing where the topic has none, or nobody may know."""
    try:
        kept = await asking.ask(asking.admin.kv.get, NAMESPACE, topic)
        head = _read({topic: kept or ""}, KeptHead).get(topic)
        if head is None or not head.latest:
            return []
        text = await asking.ask(asking.admin.kv.get, f"{NAMESPACE}/{topic}", str(head.latest))
        version = _read({topic: text or ""}, KeptVersion).get(topic)
    except MqframeError:  # a page without it is better than none
        return []
    if version is None:
        return []
    return [Text(_title(head, version), version_text(version)), Links([_all(topic)])]


def version_text(version: KeptVersion) -> str:
    """What a page shows of a version; what is no JSON as it is."""
    if version.format == "protobuf":
        return "A descriptor set; mqframe schema show has what it describes."
    try:
        found: Any = json.loads(version.text)
    except (ValueError, RecursionError):
        return version.text
    return json.dumps(found, indent=2, ensure_ascii=False)


def _all(topic: str) -> Link:
    return link("schemas", "All versions", topic=topic)


def _title(head: KeptHead, version: KeptVersion) -> str:
    name = f" {version.name}" if version.name else ""
    return f"Schema: {version.format}{name}, version {head.latest}, rule {head.rule}"


def _read(table: dict[str, str], kind: type[T]) -> dict[str, T]:
    """What can be read of `table`; what is none, as another version may have written it, is left out."""
    found: dict[str, T] = {}
    for name, text in table.items():
        try:
            found[name] = msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
    return found
