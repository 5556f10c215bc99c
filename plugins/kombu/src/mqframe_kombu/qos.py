"""Which messages of a channel are out, by delivery tag."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

from mqframe_kombu.feed import Feed
from mqframe_kombu.held import Held, HeldOutcome
from mqframe_kombu.link import Link


class QoS:
    """The prefetch count of a channel, and what was delivered and not settled. Any thread may call it."""

    def __init__(self, link: Link, feed: Feed) -> None:
        self._link = link
        self._feed = feed
        self._lock = threading.Lock()
        self._delivered: dict[int, Held] = {}
        self._tags: Iterator[int] = itertools.count(1)
        self._prefetch = 0

    @property
    def prefetch_count(self) -> int:
        """Most messages that are out; 0: no limit."""
        return self._prefetch

    @prefetch_count.setter
    def prefetch_count(self, count: int | None) -> None:
        self._prefetch = count or 0
        self._link.soon(self._feed.set_prefetch, self._prefetch)

    def can_consume(self) -> bool:
        """Whether another message may be delivered."""
        return not self._prefetch or len(self._delivered) < self._prefetch

    def next_tag(self) -> int:
        """The tag of the next delivery."""
        return next(self._tags)

    def append(self, held: Held, delivery_tag: int) -> None:
        """`held` is out as `delivery_tag`."""
        with self._lock:
            self._delivered[delivery_tag] = held

    def settle(self, delivery_tag: int, outcome: HeldOutcome, *, multiple: bool = False) -> None:
        """Settle one, or (`multiple`) it and all that came before. Tags that are not out do no harm."""
        with self._lock:
            tags = [tag for tag in self._delivered if tag <= delivery_tag] if multiple else [delivery_tag]
            helds = [self._delivered.pop(tag) for tag in tags if tag in self._delivered]
        if outcome is HeldOutcome.REQUEUE:
            # Waited for: who gives back and asks at once is to find it.
            self._link.call(self._feed.give_back(helds))
            return
        for held in helds:
            self._link.soon(self._feed.settle, held, outcome)

    def restore_unacked(self) -> None:
        """Give all back that are out."""
        with self._lock:
            helds = list(self._delivered.values())
            self._delivered.clear()
        self._link.call(self._feed.give_back(helds))

    def restore_unacked_once(self, stderr: object = None) -> None:
        """As `restore_unacked`, as kombu calls it at the end."""
        self.restore_unacked()

    def __len__(self) -> int:
        return len(self._delivered)
