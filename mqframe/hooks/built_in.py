"""What this distribution itself brings, named as entry points, so that nothing of it is imported unchosen."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Final

from mqframe.hooks.specs import Factories, hookimpl

DISTRIBUTION: Final = "mqframe"

_NAMES: Final[Mapping[str, str]] = {
    "codec mqframe.hooks.built_in": "json",
    "allocation mqframe.hooks.averagely": "averagely",
    "selector mqframe.hooks.hash_selector": "hash",
    "offset_store mqframe.hooks.remote_offset_store": "remote",
    "message_filter mqframe.broker.consuming.tag_filter": "TAG",
    "broker_service mqframe.broker.delay_levels.service": "delay_levels",
    "broker_role mqframe.broker.lone_role": "none",
}
"""Names by kind and by the module that registers them, through the same hooks as any plugin."""


def entry_points() -> list[EntryPoint]:
    """An entry point for each."""
    found = []
    for place, names in _NAMES.items():
        kind, module = place.split()
        found += [EntryPoint(f"{kind}.{name}", module, DISTRIBUTION) for name in names.split()]
    return found


@hookimpl
def register_codecs() -> Factories:
    """The codec of those who choose none."""
    return {"json": "mqframe.core.messages.json_codec:JsonCodec"}
