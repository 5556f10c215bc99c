"""Commits of a lite pull consumer: what polls returned counts as consumed at the next poll or `commit`."""

from __future__ import annotations

from collections.abc import Mapping

from mqframe.client.consuming.group.runtime import ConsumerRuntime
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe_pull.lite_pull.assembly import LitePlan


class PolledOffsets:
    """Commits for the queues of `runtime`, by itself where the plan says `auto_commit`. On its loop only."""

    def __init__(self, plan: LitePlan, runtime: ConsumerRuntime) -> None:
        self._plan = plan
        self._instance = runtime.instance
        self._queues = runtime.queues
        self._offsets = runtime.parts.offsets
        self._next_commit = plan.clock.monotonic()

    def settle(self) -> None:
        """A poll begins: what earlier ones returned was consumed, and is committed when it is time."""
        if not self._plan.auto_commit:
            return
        assigned = self._queues.assigned
        for each in assigned:
            each.settle()
        now = self._plan.clock.monotonic()
        if now >= self._next_commit:
            self._next_commit = now + self._plan.settings.auto_commit_seconds
            if self._offsets.remember((each.queue, each.settled) for each in assigned):
                self._instance.spawn(self._offsets.try_to_save(self._queues.queues))

    async def commit(self, offsets: Mapping[MessageQueue, int] | None) -> None:
        """Make `offsets` durable, or what polls returned of every queue.

        Raises `FixError` for unassigned queues and negative offsets, else what the store raises.
        """
        if offsets is None:
            for each in self._queues.assigned:
                each.settle()
            known = self._offsets.remember((each.queue, each.consumed) for each in self._queues.assigned)
        else:
            for queue, offset in offsets.items():
                if self._queues.get(queue) is None:
                    raise FixError(f"{queue} is not assigned to this consumer; nothing was committed")
                if offset < 0:
                    raise FixError(f"offset {offset} of {queue} is negative; nothing was committed")
            known = self._offsets.remember(offsets.items())
        if known:
            await self._offsets.save(self._queues.queues)
