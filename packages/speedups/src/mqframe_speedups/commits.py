"""Commits of halves: the message and the op message behind it are laid out together, and written at once."""

from __future__ import annotations

from typing import Any

from mqframe.broker.state import BrokerState
from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.record import BLANK_BYTES
from mqframe.core.storage.stored import Stored
from mqframe.store.appending.appender import Appended
from mqframe_speedups._native import lay_commit
from mqframe_speedups.served_read import LIMIT_MAX


class Commits:
    """Stores what a commit consists of, as `StoresCommits` in mqframe_transactions/broker/half_queue.py.

    `served`: messages that were stored so. `is_ready`: whether the index takes keys of compiled code; nothing
    is stored before.
    """

    def __init__(self, state: BrokerState) -> None:
        self._store, self._clock, self._identity = state.store, state.clock, state.identity
        self.served, self.is_ready = 0, False

    def __call__(
        self,
        half: bytes,
        goal: tuple[str, int, int],
        op_goal: tuple[str, int],
        op: tuple[bytes, bytes],
        room_bytes: int,
    ) -> tuple[Stored, Stored] | None:
        """As `StoresCommits`."""
        store, now = self._store, self._clock.now_ms()
        log, appender, queues = store.files.log, store.appender, store.files.queues
        (topic, queue_id, sys_flag), settings = goal, store.settings
        queue, op_queue = queues.get((topic, queue_id)), queues.get(op_goal)
        if (
            not self.is_ready
            or queue is None
            or op_queue is None
            or now < appender.store_time
            or store.replica is not None
            or settings.property_crc
            or not log.files
            or store.refusals.now() is not None
        ):
            return None
        file, begin = log.files[-1], log.end
        if begin - file.base + room_bytes + BLANK_BYTES > log.file_bytes:
            return None
        first, op_first = queue.next_offset, op_queue.next_offset
        place = self._identity.store_host, begin, now, min(settings.body_bytes_max, LIMIT_MAX)
        goals = (topic, queue_id, first, sys_flag), (*op_goal, op_first, 0)
        laid = lay_commit(half, *goals, op, place)
        if laid is None:
            return None
        records, (size, entry, code), (op_size, op_entry, op_code), keys = laid
        try:
            file.write(begin - file.base, records)
        except StoreUnavailable:
            return None
        middle = begin + size
        log.end = end = middle + op_size
        appender.store_time = now
        queue.next_offset, op_queue.next_offset = first + 1, op_first + 1
        indexed: Any = keys if len(keys) else []
        appender.waiting += (
            Appended(middle, queue, first, entry, [code], topic, indexed, now),
            Appended(end, op_queue, op_first, op_entry, [op_code], op_goal[0], [], now),
        )
        store.dispatch.soon()
        self.served += 1
        return Stored(begin, first, size, now), Stored(middle, op_first, op_size, now)
