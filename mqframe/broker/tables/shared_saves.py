"""Saves that many wait for: one at a time, and those who come meanwhile share the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mqframe.log import get_logger

log = get_logger("broker")


class SharedSaves:
    """Runs `save`, which says whether all that there was when it began is on disk.

    The futures handed out are shared: whoever awaits one shields it.
    """

    def __init__(self, save: Callable[[], Awaitable[bool]]) -> None:
        self._save = save
        self._next: asyncio.Future[bool] | None = None
        self._task: asyncio.Task[None] | None = None
        self.current: asyncio.Future[bool] | None = None
        """The result of the save that is under way; `None` without one."""

    @property
    def active(self) -> bool:
        """Whether a save is under way or to come."""
        return self._task is not None

    def ask(self) -> asyncio.Future[bool]:
        """The result of a save that begins in a later turn of the loop."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            if self._task is None:
                self._task = loop.create_task(self._run())
        return self._next

    def cancel(self) -> None:
        """Begin no save any more, and cancel the futures of those that did not end."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        for future in (self.current, self._next):
            if future is not None and not future.get_loop().is_closed():
                future.cancel()
        self.current = self._next = None

    async def _run(self) -> None:
        while self._next is not None:
            done, self._next = self._next, None
            self.current = done
            try:
                saved = await self._save()
            except Exception:  # those who wait are to hear of it, and the next save may fare better
                log.exception("tables were not saved")
                saved = False
            self.current = None
            done.set_result(saved)
        self._task = None
