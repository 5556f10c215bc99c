"""The send rule: answers doubles with the first result, and notes what is stored."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.messages import properties as p
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.hooks.interfaces import PendingRecord, SendRule, StoredAt
from mqframe_deduplication.batches import Plan, in_one_row, plan, read_elements, results
from mqframe_deduplication.counting import counting_topic
from mqframe_deduplication.options import GROUP, DeduplicationOptions
from mqframe_deduplication.window import First, Identity, Window, identity

GROUP_PROPERTY = "IDEMPOTENCE_GROUP"
"""Holds the producer group where keys count within one: a record does not say who sent it."""
PLACES = "batchPlaces"
"""Field of an answer to a batch of which some were doubles: "queue id:queue offset" of each, comma-joined."""
RECALL_HANDLE = "recallHandle"
TRANSACTION_ID = "transactionId"


class Once(SendRule):
    """Lets a key through once. `offset_id`: message id of a log offset; keys are kept in `window`.

    A second send of a key within one turn of the loop finds the first, which is noted as soon as it lies in
    the log; its answer waits for the disk as that of the first does.
    """

    batches = True

    def __init__(
        self, options: DeduplicationOptions, window: Window, clock: Clock, offset_id: Callable[[int], str]
    ) -> None:
        self.names = frozenset({options.property})
        self._name = options.property
        self._per_group = options.scope == GROUP
        self._window = window
        self._clock = clock
        self._offset_id = offset_id
        self._planned: tuple[PendingRecord, Plan] | None = None
        self.doubles = 0
        """How many sends were answered with an older result since the broker started."""

    def before(self, record: PendingRecord) -> StoredAt | None:
        """The first result of a double; `None` for what is to be stored. Raises `Refusal` for a bad batch."""
        if record.is_batch:
            return self._before_batch(record)
        wanted = self._identity(record)
        if wanted is None:
            return None
        first = self._window.find(wanted, self._clock.now_ms())
        if first is None:
            if self._per_group:
                record.properties[GROUP_PROPERTY] = wanted.group
            return None
        self.doubles += 1
        record.answer[TRANSACTION_ID] = first.unique_key
        if first.recall_handle:
            record.answer[RECALL_HANDLE] = first.recall_handle
        else:
            record.answer.pop(RECALL_HANDLE, None)
        stored = Stored(first.commit_log_offset, first.queue_offset, first.size, first.stored_ms)
        return StoredAt(first.queue_id, stored)

    def after(self, record: PendingRecord, result: StoredAt) -> None:
        """Remember where the message, or those of a batch, were stored."""
        if record.is_batch:
            self._after_batch(record, result)
            return
        stored_as = self._identity(record)
        stored = result.stored
        if stored_as is None or isinstance(stored, StoredBatch):
            return
        self._window.note(
            stored_as,
            First(
                stored.commit_log_offset,
                stored.size,
                result.queue_id,
                stored.queue_offset,
                stored.store_timestamp,
                record.properties.get(p.UNIQUE_KEY, ""),
                record.answer.get(RECALL_HANDLE, ""),
            ),
        )

    def _identity(self, record: PendingRecord) -> Identity | None:
        key = record.properties.get(self._name)
        if not key:
            return None
        topic = counting_topic(record.topic, record.properties, record.sys_flag)
        return None if topic is None else self._identify(topic, record, key)

    def _identify(self, topic: str, record: PendingRecord, key: str) -> Identity:
        return identity(topic, record.fields.producer_group if self._per_group else "", key)

    def _before_batch(self, record: PendingRecord) -> StoredAt | None:
        topic = counting_topic(record.topic, record.properties, record.sys_flag)
        if topic is None:
            return None
        group = f"{GROUP_PROPERTY}{p.NAME_END}{record.fields.producer_group}{p.PAIR_END}"
        try:
            elements = read_elements(
                bytes(record.body),
                self._name,
                lambda key: self._identify(topic, record, key),
                group if self._per_group else "",
            )
        except BodyError as problem:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, str(problem)) from None
        if all(element.identity is None for element in elements):
            return None
        now = self._clock.now_ms()
        made = plan(elements, lambda wanted: self._window.find(wanted, now))
        doubles = len(elements) - len(made.kept)
        self.doubles += doubles
        if not made.kept:
            return self._answer_doubles(record, results(made, None, 0))
        if doubles or self._per_group:
            record.body = b"".join([element.encoded for element in made.kept])
        self._planned = record, made
        return None

    def _answer_doubles(self, record: PendingRecord, firsts: list[First]) -> StoredAt:
        self._tell_ids(record, firsts)
        if not in_one_row(firsts):
            _tell_places(record, firsts)
        start = firsts[0]
        offsets = [first.commit_log_offset for first in firsts]
        end = max(first.end_offset for first in firsts)
        return StoredAt(start.queue_id, StoredBatch(offsets, start.queue_offset, end, start.stored_ms))

    def _after_batch(self, record: PendingRecord, result: StoredAt) -> None:
        planned, self._planned = self._planned, None
        stored = result.stored
        if planned is None or planned[0] is not record or isinstance(stored, Stored):
            return
        made = planned[1]
        firsts = results(made, stored, result.queue_id)
        for known, first in zip(made.firsts, firsts, strict=True):
            element = made.kept[known] if isinstance(known, int) else None
            if element is not None and element.identity is not None:
                self._window.note(element.identity, first)
        if len(made.kept) < len(made.firsts):
            # Also where all lie in one row: the answer's own offset is that of the first one stored now.
            self._tell_ids(record, firsts)
            _tell_places(record, firsts)

    def _tell_ids(self, record: PendingRecord, firsts: list[First]) -> None:
        record.answer["msgId"] = ",".join([self._offset_id(first.commit_log_offset) for first in firsts])


def _tell_places(record: PendingRecord, firsts: list[First]) -> None:
    record.answer[PLACES] = ",".join([f"{first.queue_id}:{first.queue_offset}" for first in firsts])
