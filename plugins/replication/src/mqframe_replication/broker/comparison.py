"""Whether the log of a slave is the beginning of its master's (replication.md §1.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Final

from mqframe_admin.rules.replica import told_log_bounds

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import StoreError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.messages import ViewMessageById
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.net.client import Client
from mqframe.store.files.layout import Layout
from mqframe.store.message_store import MessageStore
from mqframe_replication.broker.asking import ask
from mqframe_replication.rules.hello import PROTOCOL
from mqframe_replication.rules.last_common import last_common
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.missing_records import MissingRecords

_EMPTY_STORE: Final = "start this broker with an empty store"


async def log_bounds(client: Client, master: str) -> tuple[int, int]:
    """Where the log of `master`, "host:port", begins and ends. Raises what a call raises, `BadAnswer`."""
    return told_log_bounds(await _counters(client, master), master)


async def _counters(client: Client, master: str) -> dict[str, str]:
    answer = await ask(client, master, GetBrokerRuntimeInfo())
    return decode(bytes(answer.body), KVTable).table


class LogsDiffer(StoreError):
    """The log of a slave holds what its master's does not."""


class Comparison:
    """Asks masters about their log. `missing`: what that of `store` lacks of it."""

    def __init__(self, store: MessageStore, missing: MissingRecords, client: Client) -> None:
        self._store = store
        self._missing = missing
        self._client = client
        self.end = 0
        """Where the master's log ended when it was asked last, bytes."""

    async def compare(self, master: str) -> None:
        """Raises `StoreError` where the log here is not the beginning of that of `master`, "host:port".

        `LogsDiffer` where a part of it may be. Notes what the master keeps.
        """
        end = self._store.log.max_offset
        if not end:
            return
        low, high = await log_bounds(self._client, master)
        self.end, self._missing.kept_from = high, low
        self._compare_ends(end, low, high, master)
        await self._compare_records(low, master)

    async def takes_hello(self, master: str) -> bool:
        """Whether `master`, "host:port", is one that takes what brokers of RocketMQ do not know."""
        return (await _counters(self._client, master)).get("replicationProtocol") == str(PROTOCOL)

    def _compare_ends(self, end: int, low: int, high: int, master: str) -> None:
        if end > high:
            raise LogsDiffer(
                f"this log ends at {end}, behind that of the master {master} at {high}: they differ, or the"
                " master has lost its end. Start this broker as master if it has what was acknowledged; to"
                " follow, stop it and cut its log back (mqframe replica cut), or give it an empty store"
            )
        if end < low:
            raise StoreError(
                f"this log ends at {end}, the master {master} keeps nothing before {low}: {_EMPTY_STORE}"
            )

    async def _compare_records(self, low: int, master: str) -> None:
        last = self._missing.last_record()
        if last is None:
            return
        offset, record = last
        if offset < low:
            raise StoreError(
                f"the last record here lies at log offset {offset}, the master {master} keeps nothing before"
                f" {low}, so that the logs cannot be compared: {_EMPTY_STORE}"
            )
        asked = ViewMessageById(offset=offset, mqframe_unconfirmed=True)
        there = await ask(self._client, master, asked)
        if bytes(there.body) != record:
            raise LogsDiffer(
                f"the record at log offset {offset} is another one at the master {master}: the logs differ."
                " Stop this broker and cut its log back (mqframe replica cut), or start it with an empty"
                " store, or as master if it has what was acknowledged"
            )

    async def last_common(self, master: str) -> int | None:
        """Where the last record ends that the log here and that of `master` have in common; `None`: none.

        The log here must not be written meanwhile.
        """
        with ClosedLog(Layout(self._store.settings.directory)) as log:
            search = last_common(log, self._missing.kept_from)
            answer: bytes | None = None
            while True:
                # In a thread: files are walked in it, and readers are served meanwhile.
                is_end, offset = await asyncio.to_thread(_step, search, answer)
                if is_end or offset is None:
                    return offset
                asked = ViewMessageById(offset=offset, mqframe_unconfirmed=True)
                there = await ask(self._client, master, asked, ResponseCode.SYSTEM_ERROR)
                answer = None if there.code else bytes(there.body)


def _step(search: Generator[int, bytes | None, int | None], answer: bytes | None) -> tuple[bool, int | None]:
    """Whether `search` has ended with `answer`, and what it found, or asks for next."""
    try:
        return False, search.send(answer)
    except StopIteration as found:
        return True, found.value
