"""What this distribution itself brings, by name, so that nothing of it is imported unchosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DISTRIBUTION: Final = "mqframe"

BUILT_IN: Final[Mapping[tuple[str, str], str]] = {
    ("codec", "json"): "mqframe.core.messages.json_codec:JsonCodec",
    ("allocation", "averagely"): "mqframe.hooks.averagely:Averagely",
    ("selector", "hash"): "mqframe.hooks.hash_selector:HashSelector",
    ("offset_store", "remote"): "mqframe.hooks.remote_offset_store:RemoteOffsetStore",
    ("message_filter", "TAG"): "mqframe.broker.consuming.tag_filter:TagExpressions",
    ("broker_service", "delay_levels"): "mqframe.broker.delay_levels.service:DelayLevelService",
    ("broker_role", "none"): "mqframe.broker.lone_role:LoneRole",
}
"""Where the factory of each lies, by kind and name: what hooks of other distributions return for theirs."""
