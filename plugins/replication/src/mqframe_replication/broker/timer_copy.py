"""How far the timer of the master is, and what waits in it, kept at a slave (replication.md §3)."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from mqframe.broker.state import BrokerState
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError, RetryError
from mqframe.core.os_errors import told
from mqframe.core.requests.admin import GetTimerCheckPoint
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.trouble import Trouble
from mqframe_replication.broker.asking import ask
from mqframe_replication.broker.behind_log import BehindLog
from mqframe_replication.store.followed_timer import followed, save_followed

log = get_logger("replication")
COPY_SECONDS: Final = 3.0
"""As in Apache RocketMQ. What was delivered in it comes once more from a slave that becomes master."""
_NO_TIMER: Final = (ResponseCode.SYSTEM_ERROR, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


class TimerCopy:
    """Copies the check point of the master's timer; masters without one are passed over."""

    def __init__(self, state: BrokerState, client: Client, behind: BehindLog) -> None:
        self._client = client
        self._behind = behind
        self._keeper = state.keeper
        self._root = state.directory
        self._due = self._saved = b""
        self._uncopied = Trouble(log, state.clock.monotonic)
        self._unsaved = Trouble(log, state.clock.monotonic, level=logging.ERROR)

    async def copy(self, master: str) -> None:
        """Ask the master at `master`, "host:port"; what counts by now is on disk when this returns."""
        try:
            await self._ask(master)
        except MqframeError as problem:
            words, may_pass = str(problem), isinstance(problem, RetryError)
            event = "the timer's check point was not copied"
            self._uncopied.note(event, kind=words, may_pass=may_pass, master=master, problem=words)
        else:
            self._uncopied.over()
        await self.save()

    async def _ask(self, master: str) -> None:
        answer = await ask(self._client, master, GetTimerCheckPoint(), *_NO_TIMER)
        if answer.code or not answer.body:
            return
        encoded = followed(bytes(answer.body))
        if encoded != self._due:
            await self._behind.offer("timer", master, lambda: self._take(encoded))

    def _take(self, encoded: bytes) -> None:
        self._due = encoded

    async def save(self) -> None:
        """Bring to disk what counts by now."""
        due = self._due
        if due == self._saved:
            return
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._keeper.thread, save_followed, self._root, due)
        except OSError as problem:
            self._unsaved.note("the timer's check point was not saved", problem=told(problem))
        else:
            self._unsaved.over()
            self._saved = due
