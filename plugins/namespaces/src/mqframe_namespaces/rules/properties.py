"""Properties of messages that hold names: the producer group of a half message, the topic of a retry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mqframe.core.messages.properties import (
    INSTANCE_ID,
    NAME_END,
    PAIR_END,
    PRODUCER_GROUP,
    RETRY_TOPIC,
    find_property,
)

_NAMED: Final = re.compile(f"(^|\x02)({PRODUCER_GROUP}|{RETRY_TOPIC})\x01([^\x02]*)")


def renamed_properties(text: str, name: Callable[[str], str]) -> str:
    """`text`, the properties of a message, with the names in it as `name` has them."""
    if PRODUCER_GROUP not in text and RETRY_TOPIC not in text:
        return text
    return _NAMED.sub(lambda found: f"{found[1]}{found[2]}\x01{name(found[3])}", text)


def sent_properties(text: str, namespace: str, name: Callable[[str], str]) -> str:
    """`text` as it is sent: with names as `name` has them, and the namespace, as Java's producers say it."""
    text = renamed_properties(text, name)
    if find_property(text, INSTANCE_ID) is not None:
        return text
    if text and not text.endswith(PAIR_END):
        text += PAIR_END
    return f"{text}{INSTANCE_ID}{NAME_END}{namespace}{PAIR_END}"
