"""Whom an elected leader takes at its replication port, and what their reports mean (election.md §4, §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe_replication.rules.feed import Feed, Framing, PlainFraming
from mqframe_replication.rules.hello import EpochStart, Hello, Welcome
from mqframe_replication.stream.feed_rules import LogSource

from mqframe.core.clock import Clock
from mqframe_election.rules.epoch_framing import EpochFraming
from mqframe_election.rules.history import EpochHistory
from mqframe_election.rules.replicas import LeaderReplicas

_SAY_SECONDS: Final = 0.005
"""A frame of its own, for a few bytes, costs leader and follower as much as several messages in one."""


class LeaderRules:
    """The `FeedRules` of a leader for the brokers of its group, which all say hello.

    `replicas`: notified of how far they are; `history`: the epochs of the log, with this leader's term;
    `newer`: called when a broker knows a newer epoch.
    """

    def __init__(
        self,
        source: LogSource,
        clock: Clock,
        replicas: LeaderReplicas,
        history: Callable[[], EpochHistory],
        newer: Callable[[], object],
    ) -> None:
        self._source = source
        self._clock = clock
        self._replicas = replicas
        self._history = history
        self._newer = newer

    def objection(self, hello: Hello | None) -> str:
        """As `FeedRules.objection`; a broker that knows a newer epoch has another leader."""
        epoch = self._replicas.epoch
        if hello is not None and hello.epoch > epoch:
            self._newer()
            return f"epoch {hello.epoch} is known there, this broker leads in epoch {epoch}: it is replaced"
        return ""

    def welcome(self, hello: Hello) -> Welcome:
        """As `FeedRules.welcome`, with all that a follower compares."""
        return Welcome(
            id=self._replicas.leader,
            epoch=self._replicas.epoch,
            history=tuple(EpochStart(*each) for each in self._history().terms),
            start=self._source.min_offset,
            end=self._source.max_offset,
            confirmed=self._replicas.told(),
        )

    def framing(self, hello: Hello | None) -> Framing:
        """As `FeedRules.framing`; a single stretch is sent as masters send it."""
        if hello is None or hello.fetches:
            return PlainFraming()
        return EpochFraming(self._history(), self._replicas.told)

    def joined(self, hello: Hello | None) -> None:
        """As `FeedRules.joined`."""
        members = self._replicas.members
        if hello is not None and members is not None and not hello.fetches:
            members.joined(hello.id, self._clock.monotonic(), is_clean=hello.is_clean)
            self._replicas.heard()

    def heard(self, hello: Hello | None, feed: Feed) -> float | None:
        """As `FeedRules.heard`: what is confirmed by now may be more."""
        members = self._replicas.members
        if hello is None or members is None or hello.fetches or feed.following < 0:
            return None
        now = self._clock.monotonic()
        members.acknowledged(hello.id, feed.acknowledged, self._source.max_offset, now)
        self._replicas.heard()
        # What is appended next may go out before, and says what is confirmed.
        return _SAY_SECONDS

    def left(self, hello: Hello | None) -> None:
        """As `FeedRules.left`."""
        members = self._replicas.members
        if hello is not None and members is not None and not hello.fetches:
            members.left(hello.id, self._clock.monotonic())
            self._replicas.heard()
