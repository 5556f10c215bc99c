"""The clients of a broker: who is a member of which group, and what each group wants (wire.md §4).

Nothing here knows sockets: a channel is whatever the broker uses to reach a client, known by identity.
Source: ConsumerManager.java, ConsumerGroupInfo.java, ProducerManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from mqframe.core.clock import Clock
from mqframe.core.cluster.client_bodies import ConsumerData
from mqframe.core.filtering.subscription import Subscription, weight_of
from mqframe.core.measuring.budget import admit_all

C = TypeVar("C", bound=Hashable)

BROADCASTING = "BROADCASTING"


class Member(Generic[C]):
    """One client in one group. `seen`: monotonic seconds of its last heartbeat; `seen_ms`: wall clock, ms."""

    __slots__ = ("address", "channel", "client_id", "language", "seen", "seen_ms", "version")

    def __init__(self, channel: C, client_id: str, address: str, language: str, version: int) -> None:
        self.channel = channel
        self.client_id = client_id
        self.address = address
        self.language = language
        self.version = version
        self.seen = 0.0
        self.seen_ms = 0


class ConsumerGroup(Generic[C]):
    """A consumer group with at least one member. The member that spoke last decides what is common to all."""

    __slots__ = ("consume_type", "from_where", "members", "message_model", "name", "subscriptions")

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[C, Member[C]] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.consume_type: str | None = None
        self.message_model: str | None = None
        self.from_where: str | None = None

    @property
    def broadcasting(self) -> bool:
        """Whether every member gets every message."""
        return self.message_model == BROADCASTING

    @property
    def client_ids(self) -> list[str]:
        """The ids of the members, each once."""
        return list(dict.fromkeys(member.client_id for member in self.members.values()))

    def has_client(self, client_id: str) -> bool:
        """Whether one of the members is called so."""
        return any(member.client_id == client_id for member in self.members.values())

    @property
    def weight(self) -> int:
        """What all subscriptions weigh (`Subscription.weight`)."""
        return sum(each.weight for each in self.subscriptions.values())

    def subscribe(self, data: ConsumerData) -> bool:
        """Take over the newest subscriptions; returns whether a topic came or went."""
        changed = False
        for item in data.subscription_data_set:
            old = self.subscriptions.get(item.topic)
            if old is None or item.sub_version > old.version:
                self.subscriptions[item.topic] = Subscription(item)
            changed = changed or old is None
        wanted = {item.topic for item in data.subscription_data_set}
        for topic in [topic for topic in self.subscriptions if topic not in wanted]:
            del self.subscriptions[topic]
            changed = True
        return changed


class _Membership:
    """The groups of one channel, and how many of its producer groups call it by which client id."""

    __slots__ = ("consumers", "ids", "producers")

    def __init__(self) -> None:
        self.consumers: dict[str, None] = {}
        self.producers: dict[str, None] = {}
        self.ids: dict[str, int] = {}

    @property
    def empty(self) -> bool:
        return not (self.consumers or self.producers)


class ClientRegistry(Generic[C]):
    """Consumer and producer groups with their members.

    `members`: how many there are in all groups together; `subscribed`: what all subscriptions weigh;
    `admit_member`, `admit_subscriptions`: raise where there is no room for so many more.
    """

    __slots__ = (
        "_clock", "_fingerprints", "_memberships", "_producer_channels", "admit_member",
        "admit_subscriptions", "consumers", "members", "producers", "subscribed",
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        self._producer_channels: dict[str, C] = {}
        self._clock = clock
        self._fingerprints: dict[str, int] = {}
        self._memberships: dict[C, _Membership] = {}
        self.members = 0
        self.subscribed = 0
        self.admit_member: Callable[[int], None] = admit_all
        self.admit_subscriptions: Callable[[int], None] = admit_all
        self.consumers: dict[str, ConsumerGroup[C]] = {}
        self.producers: dict[str, dict[C, Member[C]]] = {}

    def register_consumer(self, data: ConsumerData, member: Member[C], *, without_sub: bool = False) -> bool:
        """Enter or renew a member; returns whether members or topics of the group changed.

        `without_sub`: the heartbeat leaves the subscriptions out because they are the same as before. Raises
        `Refusal` where there is no room for one more, or for its subscriptions.
        """
        name = data.group_name
        group = self.consumers.get(name)
        if group is None or member.channel not in group.members:
            self.admit_member(1)
        before = 0 if group is None else group.weight
        if not without_sub:
            self.admit_subscriptions(weight_of(data.subscription_data_set) - before)
        if group is None:
            group = self.consumers[name] = ConsumerGroup(name)
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.from_where = data.consume_from_where
        changed = self._enter(group.members, member)
        self._membership(member.channel).consumers[name] = None
        if not without_sub:
            changed = group.subscribe(data) or changed
            self.subscribed += group.weight - before
        return changed

    def register_producer(self, group: str, member: Member[C]) -> None:
        """Enter or renew a producer. Raises `Refusal` where there is no room for one more."""
        channel, client_id = member.channel, member.client_id
        old = self.producers.get(group, {}).get(channel)
        if old is None:
            self.admit_member(1)
        self._enter(self.producers.setdefault(group, {}), member)
        membership = self._membership(channel)
        membership.producers[group] = None
        if old is None or old.client_id != client_id:
            membership.ids[client_id] = membership.ids.get(client_id, 0) + 1
            if old is not None:
                self._forget_id(membership, old.client_id, channel)
        self._producer_channels[client_id] = channel

    def producer_channel(self, client_id: str) -> C | None:
        """How to reach the producer called `client_id`; `None` when none is here."""
        return self._producer_channels.get(client_id)

    def fingerprint_changed(self, group: str, fingerprint: int) -> bool:
        """Store a heartbeat's fingerprint; returns whether the group had another one."""
        old = self._fingerprints.get(group)
        self._fingerprints[group] = fingerprint
        return old is not None and old != fingerprint

    def unregister_consumer(self, group: str, channel: C) -> bool:
        """Let a member go; returns whether it was one."""
        found = self.consumers.get(group)
        if found is None or found.members.pop(channel, None) is None:
            return False
        self.members -= 1
        membership = self._memberships[channel]
        del membership.consumers[group]
        if membership.empty:
            del self._memberships[channel]
        if not found.members:
            self.subscribed -= found.weight
            del self.consumers[group]
            self._fingerprints.pop(group, None)
        return True

    def unregister_producer(self, group: str, channel: C) -> None:
        """Let a producer go."""
        members = self.producers.get(group)
        member = members.pop(channel, None) if members is not None else None
        if member is None:
            return
        self.members -= 1
        if not members:
            del self.producers[group]
        membership = self._memberships[channel]
        del membership.producers[group]
        self._forget_id(membership, member.client_id, channel)
        if membership.empty:
            del self._memberships[channel]

    def _forget_id(self, membership: _Membership, client_id: str, channel: C) -> None:
        membership.ids[client_id] -= 1
        if not membership.ids[client_id]:
            del membership.ids[client_id]
            if self._producer_channels.get(client_id) is channel:
                del self._producer_channels[client_id]

    def _membership(self, channel: C) -> _Membership:
        found = self._memberships.get(channel)
        if found is None:
            found = self._memberships[channel] = _Membership()
        return found

    def drop(self, channel: C) -> list[str]:
        """Let a client go from all its groups; returns the consumer groups that it was in."""
        membership = self._memberships.get(channel)
        if membership is None:
            return []
        left = list(membership.consumers)
        for name in left:
            self.unregister_consumer(name, channel)
        for name in tuple(membership.producers):
            self.unregister_producer(name, channel)
        return left

    def silent(self, seconds: float) -> list[C]:
        """The channels on which no heartbeat came for `seconds`, of those that sent one before."""
        limit = self._clock.monotonic() - seconds
        groups: Iterable[dict[C, Member[C]]] = (
            *(group.members for group in self.consumers.values()),
            *self.producers.values(),
        )
        return list(
            dict.fromkeys(
                member.channel for members in groups for member in members.values() if member.seen < limit
            )
        )

    def groups_of(self, topic: str) -> list[str]:
        """The groups whose members subscribe to `topic`."""
        return [group.name for group in self.consumers.values() if topic in group.subscriptions]

    def _enter(self, members: dict[C, Member[C]], member: Member[C]) -> bool:
        old = members.get(member.channel)
        if old is None:
            self.members += 1
        if old is None or old.client_id != member.client_id:
            members[member.channel] = member
        else:
            member = old
        member.seen = self._clock.monotonic()
        member.seen_ms = self._clock.now_ms()
        return old is None
