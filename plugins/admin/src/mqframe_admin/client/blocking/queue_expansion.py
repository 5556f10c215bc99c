"""QueueExpansionAdmin: `AsyncQueueExpansionAdmin` for plain threads.

Generated from mqframe_admin.client.queue_expansion, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.queue_expansion import AsyncQueueExpansionAdmin
from mqframe_admin.rules.queue_expansion import QueueExpansion


class QueueExpansionAdmin(SyncSubject[AsyncQueueExpansionAdmin]):
    """Expansion in three steps, with a wait after each of the first two. Each may be repeated."""

    def begin(self, topic: str, queues: int) -> QueueExpansion:
        """Give `topic` `queues` queues on each of its brokers that producers see, and consumers not yet.

        The fixed queue list of the topic, where an operator made one, grows along. Producers know of it with
        their next look at the route (30 s). Begun before, it goes on. Raises `FixError` when the topic would
        shrink, or a broker of its fixed list is away.
        """
        return self._call(self._client.begin, topic, queues)

    def mark(self, expansion: QueueExpansion) -> QueueExpansion:
        """Note where the old queues end. To be called when all producers know the new queues."""
        return self._call(self._client.mark, expansion)

    def left(self, expansion: QueueExpansion, groups: Sequence[str] | None = None) -> dict[str, int]:
        """Messages in the old queues that each group has yet to consume; `groups`: all of the topic."""
        return self._call(self._client.left, expansion, groups)

    def finish(
        self, expansion: QueueExpansion, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> None:
        """Let consumers see the new queues. Raises `FixError` while the old ones have not drained, unless
        `force`.
        """
        self._call(self._client.finish, expansion, groups, force=force)
