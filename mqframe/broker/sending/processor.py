"""Sends of producers: single messages, and batches (wire.md §3.1).

Source: SendMessageProcessor.java.

The way of an ordinary message is kept short: its properties are looked at for a few words, not split. A
message in which one of these words occurs takes the long way through the rules of services.
"""

from __future__ import annotations

from collections.abc import Callable
from random import randrange
from typing import Final

from mqframe.broker.sending.rules import SendRules
from mqframe.broker.sending.targets import SendTarget, SendTargets
from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BodyError, MessageError, Refusal, StoreUnavailable, TooFewReplicas
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.checks import check_key_count
from mqframe.core.messages.ids import UniqueIds
from mqframe.core.messages.sent_properties import may_name_notes
from mqframe.core.requests.failures import refused, status_code
from mqframe.core.requests.messages import SendBatchMessage, SendMessage, SendMessageV2
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.sending.message_type import FIFO, NORMAL, is_half, message_type
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record import BLANK_BYTES
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.hooks.interfaces import BodyCheck, PendingRecord, StoredAt
from mqframe.hooks.interfaces.send_rule import SendFields
from mqframe.store.incoming import Incoming

_KEY: Final = f"{p.UNIQUE_KEY}{p.NAME_END}"
_KEY_INSIDE: Final = p.PAIR_END + _KEY
NO_WAIT: Final = f"{p.WAIT}{p.NAME_END}false"
"""A message with this is answered before it is confirmed."""
_Store = Callable[[Call, SendFields, SendTarget, int], Reply | None]
_CLUSTER: Final = f"{p.CLUSTER}{p.NAME_END}"


class SendProcessor(Processor):
    """Stores messages of producers and answers with their offsets and ids.

    `rules`: applied to messages that are not ordinary. `suffix_bytes`: what stands behind the properties of
    each, `marks`: the same as fields of answers. `keys_looked_at_from`: properties with more characters may
    have too many keys. `waits`: whether answers wait until messages are confirmed.
    """

    def __init__(self, shared: Shared, targets: SendTargets, unique_ids: UniqueIds, rules: SendRules) -> None:
        super().__init__(shared)
        self._messages = shared.store
        self._times = self._statistics.put_times
        self._targets = targets
        self._unique_ids = unique_ids
        self.rules = rules
        self._concern_rules = rules.concern
        self.waits = not shared.store.confirming.confirms_at_once
        self.keys_looked_at_from = 2 * self._store.settings.message_keys_max
        settings = self._live.current
        self._region = settings.region
        self._trace_on = str(settings.trace_on).lower()
        self.marks = {p.MSG_REGION: self._region, p.TRACE_ON: self._trace_on}
        self._own = {**self.marks, p.CLUSTER: settings.cluster}
        self._suffix = p.encode_properties(self._own)
        self.suffix_bytes = self._suffix.encode()

    @serves(SendMessage, SendMessageV2, SendBatchMessage)
    def send(self, fields: SendFields, call: Call) -> Reply | None:
        return self._serve(fields, call, self._store_batch if fields.batch else self._store_one)

    def send_whole(self, fields: SendFields, call: Call, check: BodyCheck) -> Reply | None:
        """As `send`; the body is stored as one message once `check` has found nothing wrong with it."""

        def store(call: Call, fields: SendFields, target: SendTarget, queue_id: int) -> Reply | None:
            _refuse_batch_of_retries(target, fields)
            check(
                bytes(call.frame.body),
                added_bytes=len(self.suffix_bytes),
                log_file_bytes=self._store.settings.commit_log_file_bytes - BLANK_BYTES,
            )
            return self._store_one(call, fields, target, queue_id)

        return self._serve(fields, call, store)

    def _serve(self, fields: SendFields, call: Call, store: _Store) -> Reply | None:
        if call.queued * 1000 > self._live.current.send_wait_ms:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[TIMEOUT_CLEAN_QUEUE] broker busy: the send waited while others were served for "
                f"{call.queued * 1000:.0f} ms; send again later",
            )
        try:
            target = self._targets.find(fields)
            if not call.frame.body:
                raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"message for topic {fields.topic} has no body")
            text = fields.properties
            if text and len(text) > self.keys_looked_at_from:
                check_key_count(text, self._store.settings.message_keys_max)
            queue_id = fields.queue_id if fields.queue_id >= 0 else randrange(target.write_queues)
            reply = store(call, fields, target, queue_id)
            if reply is not None:
                self._times.add((self._clock.monotonic() - call.received) * 1000)
            return reply
        except (Refusal, MessageError, StoreUnavailable) as problem:
            if isinstance(problem, StoreUnavailable):
                self._times.failed += 1
            refusal = _refusal(problem)
            return Reply(refusal.code, ext=self.marks.copy(), remark=refusal.remark)

    # Most messages concern no rule, and their properties are stored as the text that came: to take them
    # apart would cost more than these searches. Whatever might concern one, be it by a word in a value
    # only, or lacks the unique key, or brings what the broker itself sets, goes the long way. Most have no
    # underscore but that of the unique key, so that what brokers note is not looked for.
    def _store_one(self, call: Call, fields: SendFields, target: SendTarget, queue_id: int) -> Reply | None:
        text = fields.properties or ""
        topic, meter, kind = fields.topic, target.meter, NORMAL
        record: PendingRecord | None
        if (
            target.is_retry
            or self._concern_rules(text)
            or _CLUSTER in text
            or not (_KEY_INSIDE in text or text.startswith(_KEY))
            or (text.count("_") > 1 and (p.MSG_REGION in text or may_name_notes(text)))
        ):
            record = self._pending(call, fields, target, queue_id, text)
            kind = type_of(record)
            earlier = self.rules.before(record, is_retry=target.is_retry)
            text = p.encode_properties(record.properties)
            if earlier is not None:
                return self._answer_earlier(call, record, earlier, text)
            topic, stored_in, sys_flag = record.topic, record.queue_id, record.sys_flag
            if record.counted_as != fields.topic:
                meter = self._statistics.topic(record.counted_as)
        else:
            if p.SHARDING_KEY in text:
                kind = FIFO
            record, stored_in, sys_flag = None, queue_id, fields.sys_flag | target.sys_flag
            if text[-1] != p.PAIR_END:
                text += p.PAIR_END
            text += self._suffix
        incoming = Incoming(
            topic, stored_in, call.frame.body, text, fields.born_timestamp, encode_host(call.peer.address),
            self._identity.store_host, fields.flag, sys_flag, fields.reconsume_times or 0,
        )  # fmt: skip
        stored = self._messages.writes.put(incoming)
        meter.add(1, stored.size, kind)
        self._statistics.put.total += 1
        ext = {
            "msgId": self._identity.offset_id(stored.commit_log_offset),
            "queueId": str(queue_id),
            "queueOffset": str(stored.queue_offset),
            "transactionId": _unique_key(text),
            p.MSG_REGION: self._region,
            p.TRACE_ON: self._trace_on,
        }
        if record is not None:
            self.rules.after(record, StoredAt(queue_id, stored))
            ext.update(record.answer)
        return self._answer(call, stored, ext, text)

    def _pending(
        self, call: Call, fields: SendFields, target: SendTarget, queue_id: int, text: str
    ) -> PendingRecord:
        pairs = p.decode_properties(text)
        self.rules.believe(pairs, fields.topic)
        if p.UNIQUE_KEY not in pairs:
            pairs[p.UNIQUE_KEY] = self._unique_ids.next()
        pairs.update(self._own)
        record = PendingRecord(fields, call.frame.body, queue_id, pairs)
        record.sys_flag |= target.sys_flag
        return record

    def _store_batch(self, call: Call, fields: SendFields, target: SendTarget, queue_id: int) -> Reply | None:
        topic = fields.topic
        _refuse_batch_of_retries(target, fields)
        body = bytes(call.frame.body)  # once: it is searched more than once below
        text = fields.properties or ""
        self.rules.check_batch(text, body)
        if text and text[-1] != p.PAIR_END:
            text += p.PAIR_END
        record = None
        # Taken apart only where a rule may want it: other batches are stored as they came.
        if self.rules.want_batch(text, body):
            record = PendingRecord(fields, body, queue_id, p.decode_properties(text), is_batch=True)
            earlier = self.rules.before(record)
            if earlier is not None:
                return self._answer_earlier(call, record, earlier, text)
        head = Incoming(
            topic, queue_id, b"", "", fields.born_timestamp, encode_host(call.peer.address),
            self._identity.store_host, fields.flag, fields.sys_flag | target.sys_flag,
            fields.reconsume_times or 0,
        )  # fmt: skip
        kept = memoryview(body if record is None else record.body)
        try:
            stored = self._messages.writes.put_batch(head, kept, text.encode() + self.suffix_bytes)
        except BodyError as problem:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, str(problem)) from None
        count = len(stored.offsets)
        size_bytes = stored.end_offset - stored.offsets[0]
        target.meter.add(count, size_bytes, FIFO if p.SHARDING_KEY in text else NORMAL)
        self._statistics.put.total += count
        ext = self._fields(StoredAt(queue_id, stored), self._identity.offset_ids(stored.offsets), text)
        if record is not None:
            self.rules.after(record, StoredAt(queue_id, stored))
            ext.update(record.answer)
        return self._answer(call, stored, ext, text)

    def _fields(self, result: StoredAt, message_ids: str, text: str) -> dict[str, str]:
        ext = {
            "msgId": message_ids,
            "queueId": str(result.queue_id),
            "queueOffset": str(result.stored.queue_offset),
            p.MSG_REGION: self._region,
            p.TRACE_ON: self._trace_on,
        }
        if unique_key := p.find_property(text, p.UNIQUE_KEY):
            ext["transactionId"] = unique_key
        return ext

    def _answer_earlier(self, call: Call, record: PendingRecord, result: StoredAt, text: str) -> Reply | None:
        """Answer a send with what was stored before, as durably as if it were stored now."""
        stored = result.stored
        offsets = stored.offsets if isinstance(stored, StoredBatch) else [stored.commit_log_offset]
        message_ids = self._identity.offset_ids(offsets)
        return self._answer(call, stored, self._fields(result, message_ids, text) | record.answer, text)

    def _answer(
        self, call: Call, stored: Stored | StoredBatch, ext: dict[str, str], text: str
    ) -> Reply | None:
        if self.waits and NO_WAIT not in text:
            end, received = stored.end_offset, call.received
            self.when_decided(end, 1, received, lambda code: call.reply(Reply(code, ext=ext)))
            return None
        return Reply(ext=ext)

    def when_decided(
        self, end: int, number: int, received: float, answer: Callable[[ResponseCode], object]
    ) -> None:
        """Call `answer` once log offset `end` is confirmed, or is not, with the code that says which.

        `number`: of the sends that wait for it, which came at `received`, monotonic seconds.
        """
        confirming = self._messages.confirming

        def decided(outcome: Outcome) -> None:
            if outcome is Outcome.CONFIRMED:
                outcome = confirming.status_of(end)
            self._times.add((self._clock.monotonic() - received) * 1000, number)
            answer(status_code(outcome))

        confirming.when_decided(end, decided)


def _refuse_batch_of_retries(target: SendTarget, fields: SendFields) -> None:
    if target.is_retry:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"retry topic {fields.topic} takes no batches")


def _refusal(problem: Exception) -> Refusal:
    if isinstance(problem, TooFewReplicas):
        # As Apache RocketMQ's brokers answer: producers try another broker.
        return Refusal(ResponseCode.SYSTEM_ERROR, str(problem))
    return refused(problem)


def type_of(record: PendingRecord) -> str:
    """As what a message is counted, by the properties that it was sent with."""
    half = is_half(record.properties, record.fields.reconsume_times or 0)
    return message_type(record.properties, is_half=half)


def _unique_key(text: str) -> str:
    # The last one counts, as for every reader; a word that only looks like it is rare enough to be looked up.
    start = text.rfind(_KEY)
    if start and text[start - 1] != p.PAIR_END:
        return p.find_property(text, p.UNIQUE_KEY) or ""
    start += len(_KEY)
    return text[start : text.find(p.PAIR_END, start)]
