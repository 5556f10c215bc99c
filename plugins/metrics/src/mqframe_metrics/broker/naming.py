"""Values of labels: what belongs to the system, versions and languages of clients, yes and no."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import LANGUAGE_NUMBERS
from mqframe.core.messages.names import BROKER_GROUP_PREFIX, is_system_topic

_FIRST_REGULAR: Final = 212
"""4.0.0-SNAPSHOT; from here on each version has a snapshot before it (MQVersion.java)."""
_LAST: Final = 612


def flag(value: bool) -> str:
    """Yes or no, as labels say it."""
    return "true" if value else "false"


def is_system(topic: str, group: str = "") -> bool:
    """Whether a topic or a group is not one of applications (BrokerMetricsManager.isSystem)."""
    return is_system_topic(topic) or group.upper().startswith(BROKER_GROUP_PREFIX)


def language(name: str) -> str:
    """A client's language; one that nobody knows is "other", for clients may say anything."""
    return name.lower() if name in LANGUAGE_NUMBERS else "other"


def version(number: int) -> str:
    """A client's version, for example "v5_3_3"."""
    if not _FIRST_REGULAR <= number < _LAST:
        return "older" if number < _FIRST_REGULAR else "higher_version"
    patch, released = divmod(number - _FIRST_REGULAR, 2)
    return f"v{4 + patch // 100}_{patch // 10 % 10}_{patch % 10}{'' if released else '_snapshot'}"
