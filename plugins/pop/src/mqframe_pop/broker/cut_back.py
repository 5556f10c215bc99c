"""Pops whose check points are cut off a log, and messages whose giving back is: they are popped again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from mqframe.core.errors import BodyError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.messages.properties import FIRST_POP_TIME, TAGS, UNIQUE_KEY, find_property
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import CutBack, OffsetPlace, StoppedStore
from mqframe_pop.rules.bodies import CheckPointBody
from mqframe_pop.rules.retry_topics import pop_retry_topic

_REVIVE_LOG: Final = "rmq_sys_REVIVE_LOG_"
_SKEW_MS: Final = 86_400_000
"""So far the clock of a sender may be ahead of the broker's."""


class PopsCutBack(CutBack):
    """Has groups, and the reader of the revive log, go back to before what is cut off."""

    def __init__(self) -> None:
        self._pops: dict[OffsetPlace, int] = {}
        self._popped_ms: int | None = None
        self._given_back: dict[str, dict[str, int]] = {}

    def take(self, record: LogRecord, message: Callable[[], ReceivedMessage]) -> None:
        """Note the offsets of check points, and what a record gives back."""
        if record.topic.startswith(_REVIVE_LOG) and find_property(record.properties, TAGS) == "ck":
            try:
                point = decode(message().stored_body, CheckPointBody)
            except BodyError:
                return  # no broker takes it for one either
            if point.topic and point.group:
                place, offset = OffsetPlace(point.topic, point.group, point.queue_id), point.start_offset
                self._pops[place] = min(offset, self._pops.get(place, offset))
        elif record.topic.startswith(RETRY_PREFIX):
            popped = whole_number(find_property(record.properties, FIRST_POP_TIME) or "")
            if popped is not None:
                known = popped if self._popped_ms is None else self._popped_ms
                self._popped_ms = min(known, popped)
                unique = find_property(record.properties, UNIQUE_KEY)
                if unique is not None:
                    self._given_back.setdefault(record.topic, {})[unique] = message().born_timestamp

    def offset(self, place: OffsetPlace, offset: int, store: StoppedStore) -> int:
        """Before pops that are cut off, and before what was given back behind the cut."""
        if place.topic.startswith(_REVIVE_LOG):
            return self._before_pops(place, offset, store)
        back = min(offset, self._pops.get(place, offset))
        wanted = self._given_back_of(place)
        return _first_of(store, place, back, wanted) if wanted else back

    def _before_pops(self, place: OffsetPlace, last: int, store: StoppedStore) -> int:
        """The last record of a revive log's queue that is done with; `last`: what was so before.

        What was given back in the tail is popped still: its check point, which is not older, counts again.
        """
        first = store.first_cut(place.topic, place.queue_id)
        end = last + 1 if first is None else min(last + 1, first)
        if self._popped_ms is not None:
            end = _first_since(store, place, end, self._popped_ms)
        return end - 1

    def _given_back_of(self, place: OffsetPlace) -> dict[str, int]:
        """What was popped by a group from a topic, and is given back behind the cut: birth by unique key."""
        topic, group, _ = place
        if not self._given_back:
            return {}
        retries = {topic, *(pop_retry_topic(topic, group, v2=v2) for v2 in (False, True))}
        return {unique: born for name in retries for unique, born in self._given_back.get(name, {}).items()}


def _first_since(store: StoppedStore, place: OffsetPlace, end: int, time: int) -> int:
    """The first offset of a queue, before `end`, whose record is of `time`, ms, or later."""

    def stored(offset: int) -> int:
        record = store.record(place.topic, place.queue_id, offset)
        return 0 if record is None else record.store_timestamp  # it is deleted, or was never there

    return bisect_left(range(end), time, key=stored)


def _first_of(store: StoppedStore, place: OffsetPlace, end: int, wanted: dict[str, int]) -> int:
    """The first offset of a queue, before `end`, of a message that is `wanted`; else that itself.

    Check points that nobody waited for long are in memory alone: the message itself has to be popped again.
    """
    oldest = min(wanted.values()) - _SKEW_MS
    found, left = end, set(wanted)
    for offset in range(end - 1, -1, -1):
        record = store.record(place.topic, place.queue_id, offset)
        if not left or record is None or record.store_timestamp < oldest:
            break
        unique = find_property(record.properties, UNIQUE_KEY)
        if unique in left:
            left.discard(unique)
            found = offset
    return found
