"""Offsets of a group that an operator resets, corrects or clones.

Source: Broker2Client.resetOffset, ConsumerOffsetManager.queryMinOffsetInAllGroup,
AdminBrokerProcessor.queryCorrectionOffset and cloneGroupOffset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

NEVER: Final = 2**63 - 1
"""The correction of a queue in which the compared group is behind all others already."""


def reset_target(stored: int | None, wanted: int, *, force: bool) -> int:
    """Where a reset to `wanted` sends a group that has stored `stored`. Without `force` only back."""
    if force or stored is None or stored < 0:
        return wanted
    return min(stored, wanted)


def correction_offsets(
    groups: Mapping[str, Mapping[int, int]],
    lowest: Callable[[int], int],
    without: Collection[str],
    compared: str,
) -> dict[int, int]:
    """The smallest offset of any group in each queue, by queue id.

    `groups`: offsets by group and queue id; `lowest`: where a queue begins, what lies before it does not
    count; `without`: groups that do not count; `compared`: where it is behind that offset, `NEVER`.
    """
    found: dict[int, int] = {}
    for group, queues in groups.items():
        if group in without:
            continue
        for queue_id, offset in queues.items():
            if offset >= lowest(queue_id):
                found[queue_id] = min(offset, found.get(queue_id, NEVER))
    for queue_id, offset in groups.get(compared, {}).items():
        if queue_id in found and found[queue_id] > offset:
            found[queue_id] = NEVER
    return found


def topics_to_clone(
    topics: Collection[str], subscribed: Collection[str] | None, *, offline: bool
) -> list[str]:
    """Which of the topics that a group has offsets of are handed to another group.

    `subscribed`: what its members want, `None` when nobody is online. Unless `offline`, a topic that they do
    not want any more is left out.
    """
    if offline or not subscribed:
        return list(topics)
    return [topic for topic in topics if topic in subscribed]
