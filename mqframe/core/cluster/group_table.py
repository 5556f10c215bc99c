"""The consumer groups of one broker (store.md §5). Source: SubscriptionGroupManager.java."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import (
    RETRY_QUEUES_MAX,
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
)
from mqframe.core.errors import MessageError, Refusal
from mqframe.core.measuring.budget import admit_all
from mqframe.core.messages.names import BROKER_GROUP_PREFIX, SYSTEM_GROUPS, check_group
from mqframe.core.retry.redelivery import check_policy
from mqframe.core.wire.bodies import DataVersion

READ_FORBIDDEN: Final = 1 << 2
"""Bit of the forbidden table: the group may not read the topic (PermName.INDEX_PERM_READ)."""


class GroupTable:
    """Consumer groups by name. `changes` grows with every change.

    `rules`: how many pairs of group and topic are forbidden; `admit`, `admit_rule`: raise where there is no
    room for so many more.
    """

    __slots__ = ("_clock", "_groups", "admit", "admit_rule", "changes", "forbidden", "rules", "version")

    def __init__(self, clock: Clock, system: Iterable[str] = SYSTEM_GROUPS) -> None:
        self._clock = clock
        self._groups = {name: SubscriptionGroupConfig(group_name=name) for name in system}
        self.forbidden: dict[str, dict[str, int]] = {}
        self.rules = 0
        self.admit: Callable[[int], None] = admit_all
        self.admit_rule: Callable[[int], None] = admit_all
        self.version = DataVersion(timestamp=clock.now_ms())
        self.changes = 0

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._groups))

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """The configuration of group `name`; `None` when there is none."""
        return self._groups.get(name)

    def find_or_create(self, name: str, auto_create: bool) -> SubscriptionGroupConfig | None:
        """As `find`; where `auto_create` holds, a group with a legal name is made.

        Raises `Refusal` where there is no room for another.
        """
        group = self._groups.get(name)
        if group is None and auto_create:
            try:
                check_group(name)
            except MessageError:
                return None
            self.admit(1)
            group = self._groups[name] = SubscriptionGroupConfig(group_name=name)
            self._changed()
        return group

    def need(self, name: str, auto_create: bool = False) -> SubscriptionGroupConfig:
        """As `find_or_create`, for who wants to consume or to commit as the group.

        Raises `Refusal`: SUBSCRIPTION_GROUP_NOT_EXIST where that finds none, NO_PERMISSION for a group by
        which the broker itself remembers how far it is.
        """
        if name.startswith(BROKER_GROUP_PREFIX):
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {name} is the broker's own")
        group = self._groups.get(name) or self.find_or_create(name, auto_create)
        if group is None:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {name} does not exist")
        return group

    def check(self, group: SubscriptionGroupConfig) -> None:
        """Raise the `Refusal` with which `put` would meet `group`, but for that of room."""
        try:
            check_group(group.group_name)
        except MessageError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        if group.retry_queue_nums > RETRY_QUEUES_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"group {group.group_name}: {group.retry_queue_nums} retry queues;"
                f" the most is {RETRY_QUEUES_MAX}",
            )
        check_policy(group.group_name, group.group_retry_policy)

    def put(self, group: SubscriptionGroupConfig) -> None:
        """Create or change a group.

        Raises `Refusal` for an illegal name, policy or number of queues, and where there is no room for
        another.
        """
        self.check(group)
        old = self._groups.get(group.group_name)
        if old is None:
            self.admit(1)
        attributes = dict(old.attributes if old else {})
        for key, value in group.attributes.items():
            if key.startswith("-"):
                attributes.pop(key[1:], None)
            else:
                attributes[key.removeprefix("+")] = value
        self._groups[group.group_name] = msgspec.structs.replace(group, attributes=attributes)
        self._changed()

    def remove(self, name: str) -> bool:
        """Forget a group; returns whether there was one."""
        self.rules -= len(self.forbidden.pop(name, ()))
        if self._groups.pop(name, None) is None:
            return False
        self._changed()
        return True

    def forbid(self, group: str, topic: str, forbidden: bool) -> None:
        """Forbid `group` to read `topic`, or allow it again. Raises `Refusal` where there is no room."""
        topics = self.forbidden.get(group, {})
        bits = topics.get(topic, 0)
        bits = bits | READ_FORBIDDEN if forbidden else bits & ~READ_FORBIDDEN
        if bits:
            if topic not in topics:
                self.admit_rule(1)
                self.rules += 1
            self.forbidden.setdefault(group, {})[topic] = bits
        elif topic in topics:
            del topics[topic]
            self.rules -= 1
            if not topics:
                del self.forbidden[group]
        self._changed()

    def may_read(self, group: str, topic: str) -> bool:
        """Whether no entry of the forbidden table stops `group` from reading `topic`."""
        return not self.forbidden.get(group, {}).get(topic, 0) & READ_FORBIDDEN

    def load(self, table: SubscriptionGroupTable) -> None:
        """Take over what was saved; it replaces what is there under the same name."""
        self._groups.update(table.subscription_group_table)
        self.forbidden = dict(table.forbidden_table)
        self.rules = sum(map(len, self.forbidden.values()))
        self.version = table.data_version

    def replace(self, table: SubscriptionGroupTable) -> None:
        """Be what `table` is, that of a master; groups that it has not go."""
        self._groups = {}
        self.load(table)
        self.changes += 1

    def dump(self) -> SubscriptionGroupTable:
        """Everything, as it is saved."""
        return SubscriptionGroupTable(
            data_version=self.version,
            forbidden_table=self.forbidden,
            subscription_group_table=dict(self._groups),
        )

    def _changed(self) -> None:
        self.changes += 1
        self.version = self.version.next(self._clock.now_ms())
