"""`[groups.NAME]`: a consumer group on all masters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from mqframe_admin.rules.retry_waits import listed_waits

from mqframe.core.consuming.group_config import (
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
)
from mqframe.core.messages.names import is_system_group
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig
from mqframe.core.retry.redelivery import FIRST_LEVEL
from mqframe.core.wire.loose_json import decode
from mqframe_definitions.kind import DefinitionKind

if TYPE_CHECKING:
    from mqframe import Admin

_UNUSED: Final = FIRST_LEVEL - 1
"""Waits at the head of a customized policy that no message ever waits for."""


class GrowingWaits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Waits that grow from `initial` by `multiplier` up to `max`, ms."""

    initial: int = 5_000
    max: int = 7_200_000
    multiplier: int = 2


class GroupSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A consumer group.

    `retries_max`: returns of a message before it is a dead letter; `retry_waits`: ms before each return, the
    last one is kept, or a table that says how they grow; none: the broker's levels. `enabled`: whether it may
    consume; `broadcast`: whether it may have all messages at each member; `ordered`: whether it consumes in
    order; `attributes`: of brokers from 5.1.3 on.
    """

    retries_max: int = 16
    retry_waits: list[int] | GrowingWaits = []
    retry_queues: int = 1
    enabled: bool = True
    broadcast: bool = True
    ordered: bool = False
    attributes: dict[str, str] = {}


class Groups(DefinitionKind[GroupSpec]):
    """Consumer groups. Progress and members are no definitions: who is deleted leaves its progress."""

    Spec: ClassVar[type[msgspec.Struct]] = GroupSpec
    rank = 20

    def __init__(self, admin: Admin) -> None:
        super().__init__(admin)
        self._configs: dict[str, dict[str, SubscriptionGroupConfig]] = {}

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, GroupSpec | None]]:
        """Of each group what each master has."""
        tables = {
            broker: decode(
                bytes(self.admin.brokers.call(broker, GetAllSubscriptionGroupConfig()).body),
                SubscriptionGroupTable,
            ).subscription_group_table
            for broker in self.admin.cluster.masters()
        }
        known = {name for table in tables.values() for name in table if not is_system_group(name)}
        wanted = sorted(known if names is None else known.intersection(names))
        self._configs = {
            name: {broker: table[name] for broker, table in tables.items() if name in table}
            for name in wanted
        }
        return {
            name: {broker: _spec_of(has[broker]) if broker in has else None for broker in tables}
            for name, has in self._configs.items()
        }

    def apply(self, name: str, wanted: GroupSpec, *, new: bool) -> None:
        """Make or change a group; what a definition has no field for stays as its first broker has it."""
        has = self._configs.get(name) or {"": SubscriptionGroupConfig(name)}
        self.admin.groups.create(
            msgspec.structs.replace(
                next(iter(has.values())),
                retry_max_times=wanted.retries_max,
                retry_queue_nums=wanted.retry_queues,
                consume_enable=wanted.enabled,
                consume_broadcast_enable=wanted.broadcast,
                consume_message_orderly=wanted.ordered,
                group_retry_policy=_policy_of(wanted.retry_waits),
                attributes={f"+{key}": value for key, value in wanted.attributes.items()},
            )
        )

    def delete(self, name: str) -> None:
        """Delete the configuration of a group."""
        self.admin.groups.delete(name)


def _spec_of(config: SubscriptionGroupConfig) -> GroupSpec:
    return GroupSpec(
        retries_max=config.retry_max_times,
        retry_waits=_waits_of(config.group_retry_policy),
        retry_queues=config.retry_queue_nums,
        enabled=config.consume_enable,
        broadcast=config.consume_broadcast_enable,
        ordered=config.consume_message_orderly,
        attributes=dict(config.attributes),
    )


def _waits_of(policy: GroupRetryPolicy) -> list[int] | GrowingWaits:
    if policy.type == "EXPONENTIAL":
        grows = policy.exponential_retry_policy or ExponentialRetryPolicy()
        return GrowingWaits(grows.initial, grows.max, grows.multiplier)
    listed = policy.customized_retry_policy
    return [] if listed is None else list(listed.next[_UNUSED:] or listed.next[-1:])


def _policy_of(waits: list[int] | GrowingWaits) -> GroupRetryPolicy:
    if isinstance(waits, GrowingWaits):
        grows = ExponentialRetryPolicy(waits.initial, waits.max, waits.multiplier)
        return GroupRetryPolicy("EXPONENTIAL", exponential_retry_policy=grows)
    return listed_waits(waits)
