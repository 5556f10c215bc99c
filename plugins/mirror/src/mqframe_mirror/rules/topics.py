"""Which topics are copied, and what they are called at the target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from string import Formatter
from typing import Final

import attrs

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.names import check_topic, is_system_group, is_system_topic
from mqframe_mirror.rules.marks import MIRROR_PREFIX

SAME: Final = "{topic}"
"""Topics are called at the target as at the source."""
_WILD: Final = frozenset("*?[")


def is_internal(topic: str) -> bool:
    """Whether `topic` is of the system: retries, dead letters, traces, what brokers note."""
    return topic.startswith("%") or is_system_topic(topic)


@attrs.frozen
class TopicChoice:
    """The topics to copy: names and patterns with "*", less those that `excluded` names in the same way.

    `rename`: what a topic is called at the target, of "{topic}" and "{cluster}", the source's name. Raises
    `SettingError` for no topics, for one that is of the system, and for a name that makes no topic.
    """

    wanted: Sequence[str]
    excluded: Sequence[str] = ()
    rename: str = SAME

    def __attrs_post_init__(self) -> None:
        if not self.wanted:
            raise SettingError('topics: name those to copy, or patterns such as "orders-*"; "*" means all')
        for name in self.wanted:
            if not _is_pattern(name) and is_internal(name):
                raise SettingError(f"topics: {name} is the system's own, and is not copied")
        try:
            fields = {field for _, field, _, _ in Formatter().parse(self.rename) if field is not None}
        except ValueError as problem:
            raise SettingError(f"rename {self.rename!r}: {problem}") from None
        if "topic" not in fields or fields - {"topic", "cluster"}:
            raise SettingError(
                f"rename {self.rename!r}: has to hold {{topic}}, and may hold {{cluster}} besides"
            )
        try:
            check_topic(self.rename.format(topic="x", cluster="x"))
        except MessageError as problem:
            raise SettingError(f"rename {self.rename!r}: {problem}") from None

    def target(self, topic: str, source: str) -> str:
        """What `topic` of the cluster `source` is called at the target."""
        return self.rename.format(topic=topic, cluster=source)

    def missing(self, topics: Collection[str]) -> set[str]:
        """The names, of those to copy, that are not among `topics`."""
        return {name for name in self.wanted if not _is_pattern(name) and name not in topics}

    def chosen(self, topics: Iterable[str], hidden: Collection[str], target: str) -> list[str]:
        """Those of `topics` that are copied to the cluster `target`, sorted.

        `hidden`: names that are the system's own there. Patterns do not mean topics that a mirror with the
        same `rename` brought from `target`.
        """
        back = self.rename.format(topic="*", cluster=target) if self.rename != SAME else ""
        return sorted(
            topic
            for topic in set(topics)
            if not is_internal(topic)
            and topic not in hidden
            and not _meant(topic, self.excluded)
            and (topic in self.wanted or (_meant(topic, self.wanted) and not _matches(topic, back)))
        )


def chosen_groups(groups: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Those of `groups` that `wanted` names, by name or by patterns with "*", sorted.

    Patterns mean no groups of the system, nor those of mirrors, which have their own way to the target.
    """
    return sorted(
        group
        for group in set(groups)
        if group in wanted
        or (_meant(group, wanted) and not is_system_group(group) and not group.startswith(MIRROR_PREFIX))
    )


def _meant(name: str, wanted: Iterable[str]) -> bool:
    return any(name == each or _matches(name, each) for each in wanted)


def _matches(name: str, pattern: str) -> bool:
    return _is_pattern(pattern) and fnmatchcase(name, pattern)


def _is_pattern(text: str) -> bool:
    return not _WILD.isdisjoint(text)
