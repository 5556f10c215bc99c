"""What was copied from a master and speaks of messages: it counts once these are here, too."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.net.client import Client
from mqframe.store.message_store import MessageStore
from mqframe_replication.broker.comparison import log_bounds


class BehindLog:
    """Holds back what tables say until the log here is as long as the master's was then.

    A table of what is delivered that is ahead of the log would have a slave that becomes master pass over
    messages: they count as delivered, and what was delivered is not here.
    """

    def __init__(self, store: MessageStore, client: Client) -> None:
        self._store = store
        self._client = client
        self._waiting: dict[str, tuple[int, Callable[[], object]]] = {}

    async def offer(self, name: str, master: str, apply: Callable[[], object]) -> None:
        """Call `apply` when the log here holds what that of `master`, "host:port", holds now.

        What waits under the same `name` goes first: a slave that is far behind would never take anything
        otherwise, and what it drops comes with a later copy. Raises what a call raises.
        """
        if name not in self._waiting:
            _, end = await log_bounds(self._client, master)
            self._waiting[name] = end, apply
        self.settle()

    def settle(self) -> None:
        """Apply what has its messages by now."""
        for name, (end, apply) in tuple(self._waiting.items()):
            if self._store.log.max_offset >= end:
                del self._waiting[name]
                apply()
