"""News of routes in a process: what one client instance learns makes the others ask, too.

Only the name of the topic is passed on. Each instance asks its own name servers, with its own keys, so nobody
gets a route from another cluster, one that has become old, or one that its user may not see.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from typing import Protocol


class Hearer(Protocol):
    """Who wants to know of news."""

    def hear(self, topic: str) -> None:
        """`topic` has a route that it did not have before. Called from any thread."""


class RouteNews:
    """Instances that run, by the name servers that they ask. May be used from any thread.

    Instances are held weakly. In a process that forked nobody is left: their loops and sockets stayed behind.
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):  # not everywhere
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._hearers: dict[frozenset[str], weakref.WeakSet[Hearer]] = {}

    def join(self, servers: Iterable[str], hearer: Hearer) -> None:
        """Tell `hearer` from now on of what others with the same name servers learn."""
        with self._lock:
            self._hearers.setdefault(frozenset(servers), weakref.WeakSet()).add(hearer)

    def leave(self, servers: Iterable[str], hearer: Hearer) -> None:
        """Tell it nothing more. Without effect when it did not join."""
        key = frozenset(servers)
        with self._lock:
            found = self._hearers.get(key)
            if found is not None:
                found.discard(hearer)
                if not found:
                    del self._hearers[key]

    def tell(self, servers: Iterable[str], teller: Hearer, topic: str) -> None:
        """`teller` learnt a new route of `topic`."""
        with self._lock:
            others = [each for each in self._hearers.get(frozenset(servers), ()) if each is not teller]
        for each in others:
            each.hear(topic)


NEWS = RouteNews()
"""That of this process."""
