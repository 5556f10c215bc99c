"""What services of ordered listeners do between calls: they lock, unlock, and send on what failed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from mqframe.log import get_logger

log = get_logger("client")


class SideTasks:
    """Tasks that nobody awaits, for `group`; of one that fails `event` is logged."""

    def __init__(self, group: str, event: str) -> None:
        self._group, self._event = group, event
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have `work` done, unless it is too late: locks of queues end by themselves."""
        if self._stopped:
            work.close()
            return
        self._tasks.add(task := asyncio.ensure_future(work))
        task.add_done_callback(self._over)

    async def stop(self) -> None:
        """Cancel what is not done, and begin nothing more."""
        self._stopped = True
        await asyncio.gather(*[task for task in self._tasks if task.cancel()], return_exceptions=True)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error(self._event, group=self._group, exc_info=task.exception())
