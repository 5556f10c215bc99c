"""The options of the service `deduplication`."""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.config.settings import at_least, one_of, setting, settings
from mqframe.core.messages.properties import IDEMPOTENCE_KEY, RESERVED

TOPIC: Final = "topic"
GROUP: Final = "group"
_NAME: Final = re.compile(r"[!-~]{1,127}")


def _check_property(name: str) -> str | None:
    if name in RESERVED:
        return f"is a property of the system; take a name of your own, for example {IDEMPOTENCE_KEY}"
    if not _NAME.fullmatch(name):
        return "is no name of a property: give 1 to 127 visible ASCII characters without blanks"
    return None


@settings("plugins.deduplication")
class DeduplicationOptions:
    """Which sends count as the same, and for how long."""

    property: str = setting(
        IDEMPOTENCE_KEY, doc="name of the property that holds the key of a message", check=_check_property
    )
    scope: str = setting(
        TOPIC,
        doc="within what a key is unique: topic (whoever sends), or group (topic and producer group)",
        check=one_of(TOPIC, GROUP),
    )
    window_seconds: int = setting(
        600, doc="how long a key is remembered after its message was stored, s", check=at_least(1)
    )
    keys_max: int = setting(
        100_000,
        doc="most keys that are remembered, of all topics together; the oldest go first",
        check=at_least(1),
    )
