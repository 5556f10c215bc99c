"""Files of services of the master, kept at a slave: how far its timer is (replication.md §3)."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from mqframe.broker.state import BrokerState
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError, RetryError
from mqframe.core.os_errors import told
from mqframe.hooks.interfaces import CopiedFile
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.trouble import Trouble
from mqframe_replication.broker.asking import ask
from mqframe_replication.broker.behind_log import BehindLog

log = get_logger("replication")
COPY_SECONDS: Final = 3.0
"""As in Apache RocketMQ. What was delivered in it comes once more from a slave that becomes master."""


class FileCopy:
    """Copies `file` of the master; masters without it are passed over."""

    def __init__(self, file: CopiedFile, state: BrokerState, client: Client, behind: BehindLog) -> None:
        self._file = file
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
            event = f"{self._file.name} was not copied"
            self._uncopied.note(event, kind=words, may_pass=may_pass, master=master, problem=words)
        else:
            self._uncopied.over()
        await self.save()

    async def _ask(self, master: str) -> None:
        file = self._file
        absent = (*file.absent, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        answer = await ask(self._client, master, file.request, *absent)
        if answer.code or not answer.body:
            return
        encoded = file.content(bytes(answer.body))
        if encoded != self._due:
            await self._behind.offer(file.name, master, lambda: self._take(encoded))

    def _take(self, encoded: bytes) -> None:
        self._due = encoded

    async def save(self) -> None:
        """Bring to disk what counts by now."""
        due = self._due
        if due == self._saved:
            return
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._keeper.thread, self._file.save, self._root, due)
        except OSError as problem:
            self._unsaved.note(f"{self._file.name} was not saved", problem=told(problem))
        else:
            self._unsaved.over()
            self._saved = due
