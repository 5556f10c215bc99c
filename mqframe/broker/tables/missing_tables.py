"""Saved tables that are not there though queues hold messages: a start tells what goes with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from mqframe.core.messages.names import SCHEDULE_TOPIC, is_system_topic
from mqframe.log import get_logger

log: Final = get_logger("broker")
TOLD_OF: Final[Mapping[str, str]] = {
    "topics.json": "the settings of topics; each is made anew when it is sent to, with the defaults",
    "subscriptionGroup.json": "the settings of groups; each is made anew by its members, with the defaults",
    "consumerOffset.json": "the progress of all groups; they go on where their consumers begin without any",
    "delayOffset.json": "how far delayed messages were delivered; they may come once more",
}
"""What each file holds, and what is without it."""


def tell_of_missing(
    missing: Collection[str], directory: Path, messages: Mapping[tuple[str, int], int]
) -> list[str]:
    """Log what is missing; the names of the files that are told of.

    `missing`: names of files that are not there, and have no copy; `messages`: how many each queue holds, by
    topic and queue id.
    """
    held = {topic: count for (topic, _), count in messages.items() if count}
    ordinary = [topic for topic in held if not is_system_topic(topic) and topic != SCHEDULE_TOPIC]
    told = []
    for name, meaning in TOLD_OF.items():
        if name in missing and (SCHEDULE_TOPIC in held if name == "delayOffset.json" else ordinary):
            log.error(
                "a saved table is missing, and so is its copy, though queues hold messages",
                file=str(directory / name),
                lost=meaning,
                messages=sum(messages.values()),
                topics=len(held),
                repair="stop the broker, put the file back from a backup or a replica, and start it again",
            )
            told.append(name)
    return told
