"""The replication port of an elected leader (election.md §4, §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mqframe.core.election.history import EpochHistory
from mqframe.core.replication.epoch_feed import EpochFeed
from mqframe.core.replication.feed import Feed
from mqframe.core.replication.hello import EpochStart, Hello, Welcome
from mqframe.replication.feeding import Connection, Feeding
from mqframe.replication.reign import LeaderReplicas

_TELL_SECONDS: Final = 0.005
"""A frame of its own, for a few bytes, costs leader and follower as much as several messages in one."""


class LeaderFeeding(Feeding):
    """A `Feeding` for brokers of the leader's group, which all say hello. Made as that, with three more.

    `replicas`: what is told how far they are; `history`: the epochs of the log, with this reign; `newer`:
    called when a broker knows a newer epoch.
    """

    def __init__(
        self,
        *feeding: Any,
        replicas: LeaderReplicas,
        history: Callable[[], EpochHistory],
        newer: Callable[[], object],
    ) -> None:
        super().__init__(*feeding)
        self._replicas = replicas
        self._history = history
        self._newer = newer

    def objection(self, hello: Hello | None) -> str:
        """As `Feeding.objection`; a broker that knows a newer epoch has another leader."""
        epoch = self._replicas.epoch
        if hello is not None and hello.epoch > epoch:
            self._newer()
            return f"epoch {hello.epoch} is known there, this broker leads in epoch {epoch}: it is replaced"
        return super().objection(hello)

    def welcome(self, hello: Hello) -> Welcome:
        """As `Feeding.welcome`, with all that a follower compares."""
        return Welcome(
            id=self._replicas.leader,
            epoch=self._replicas.epoch,
            history=tuple(EpochStart(*each) for each in self._history().reigns),
            start=self.source.min_offset,
            end=self.source.max_offset,
            confirmed=self._replicas.told(),
        )

    def feed_of(self, hello: Hello | None) -> Feed:
        """As `Feeding.feed_of`; a single stretch is sent as masters send it."""
        if hello is None or hello.fetches:
            return super().feed_of(hello)
        return EpochFeed(self.limits, self.clock.monotonic(), self._history(), self._replicas.told)

    def join(self, slave: Connection) -> None:
        """As `Feeding.join`."""
        super().join(slave)
        hello, members = slave.hello, self._replicas.members
        if hello is not None and members is not None and not hello.fetches:
            members.joined(hello.id, self.clock.monotonic(), is_clean=hello.is_clean)
            self._replicas.heard()

    def heard(self, slave: Connection) -> None:
        """As `Feeding.heard`."""
        hello, members = slave.hello, self._replicas.members
        if hello is not None and members is not None and slave.is_followed:
            now = self.clock.monotonic()
            members.acknowledged(hello.id, slave.feed.acknowledged, self.source.max_offset, now)
            self._replicas.heard()
            # What is appended next may go out before, and says what is confirmed.
            self.push_later(_TELL_SECONDS)

    def leave(self, slave: Connection) -> None:
        """As `Feeding.leave`."""
        hello, members, was_there = slave.hello, self._replicas.members, slave in self._slaves
        super().leave(slave)
        if was_there and hello is not None and members is not None and not hello.fetches:
            members.left(hello.id, self.clock.monotonic())
            self._replicas.heard()
