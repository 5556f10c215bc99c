"""The schema of a topic, where name servers keep one (`mqframe-plugin-schemas` has them do so)."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from mqframe.core.errors import MqframeError
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.view import Part, Text

NAMESPACE: Final = "MQFRAME_SCHEMAS"


class _Head(msgspec.Struct):
    latest: int
    rule: str = "backward"


class _Version(msgspec.Struct):
    format: str
    text: str
    name: str = ""


async def schema_parts(asking: Asking, topic: str) -> list[Part]:
    """The version that is in force, with its rule; nothing where the topic has none, or nobody may know."""
    try:
        kept = await asking.ask(asking.admin.kv.get, NAMESPACE, topic)
        if not kept:
            return []
        head = msgspec.json.decode(kept, type=_Head)
        if not head.latest:
            return []
        text = await asking.ask(asking.admin.kv.get, f"{NAMESPACE}/{topic}", str(head.latest))
        version = msgspec.json.decode(text or "", type=_Version)
        return [Text(_title(head, version), _shown(version))]
    except (MqframeError, ValueError):  # a page without it is better than none
        return []


def _title(head: _Head, version: _Version) -> str:
    name = f" {version.name}" if version.name else ""
    return f"Schema: {version.format}{name}, version {head.latest}, rule {head.rule}"


def _shown(version: _Version) -> str:
    if version.format == "protobuf":
        return "A descriptor set; mqframe schema show has what it describes."
    found: Any = json.loads(version.text)
    return json.dumps(found, indent=2, ensure_ascii=False)
