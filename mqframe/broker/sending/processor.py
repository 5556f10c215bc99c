"""Sends: 10, 310, 320 and 21320 (wire.md §3.1, §8; source: SendMessageProcessor.java).

The way of an ordinary message is kept short: its properties are looked at for a few words, not split. A
message in which one of these words occurs takes the long way through the rules of `send_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import randrange
from typing import Final

from mqframe.broker.identity import Identity
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.broker.send_rules import Draft, Rule
from mqframe.broker.send_targets import SendFields, SendTarget, SendTargets
from mqframe.broker.statistics import Statistics
from mqframe.core import properties as p
from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.half_batch import check_half_batch
from mqframe.core.host import encode_host
from mqframe.core.ids import UniqueIds
from mqframe.core.record import BLANK_BYTES
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import SendBatchMessage, SendHalfBatch, SendMessage, SendMessageV2
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.incoming import Incoming, Stored, StoredBatch
from mqframe.store.message_store import MessageStore

_KEY: Final = f"{p.UNIQUE_KEY}{p.NAME_END}"
_KEY_INSIDE: Final = p.PAIR_END + _KEY
_NO_WAIT: Final = f"{p.WAIT}{p.NAME_END}false"
_CLUSTER: Final = f"{p.CLUSTER}{p.NAME_END}"


class SendProcessor(Part):
    """Stores what producers send and says where it lies.

    `rules`: applied to messages that are not ordinary; `waits_for_disk`: whether answers wait until the store
    has confirmed the message.
    """

    def __init__(
        self,
        store: MessageStore,
        targets: SendTargets,
        identity: Identity,
        live: LiveSettings,
        clock: Clock,
        statistics: Statistics,
        unique_ids: UniqueIds,
        rules: Sequence[Rule],
        waits_for_disk: bool,
    ) -> None:
        self._store = store
        self._targets = targets
        self._identity = identity
        self._live = live
        self._clock = clock
        self._statistics = statistics
        self._unique_ids = unique_ids
        self._rules = tuple(rules)
        self._waits_for_disk = waits_for_disk
        settings = live.current
        self._region = settings.region
        self._trace_on = str(settings.trace_on).lower()
        self._own = {
            p.MSG_REGION: self._region,
            p.TRACE_ON: self._trace_on,
            p.CLUSTER: settings.cluster,
        }
        self._suffix = p.encode_properties(self._own)
        self._suffix_bytes = self._suffix.encode()

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            10: self._send_first_form,
            310: self._send_short_form,
            320: self._send_batch_form,
            SendHalfBatch.CODE: self._send_half_batch_form,
        }

    def _send_first_form(self, call: Call) -> Reply | None:
        return self._send(call, decode_fields(call.frame.ext, SendMessage))

    def _send_short_form(self, call: Call) -> Reply | None:
        return self._send(call, decode_fields(call.frame.ext, SendMessageV2))

    def _send_batch_form(self, call: Call) -> Reply | None:
        return self._send(call, decode_fields(call.frame.ext, SendBatchMessage))

    def _send_half_batch_form(self, call: Call) -> Reply | None:
        fields = decode_fields(call.frame.ext, SendHalfBatch)
        fields.batch = True
        return self._send(call, fields)

    def _send(self, call: Call, fields: SendFields) -> Reply | None:
        late = self._clock.monotonic() - call.received
        if late * 1000 > self._live.current.send_wait_ms:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[TIMEOUT_CLEAN_QUEUE] broker busy: the send waited {late * 1000:.0f} ms; send again later",
            )
        try:
            target = self._targets.find(fields)
            if not call.frame.body:
                raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"message for topic {fields.topic} has no body")
            queue_id = fields.queue_id
            if queue_id < 0:
                queue_id = randrange(target.write_queues)
            if fields.batch:
                return self._store_batch(call, fields, target, queue_id)
            return self._store_one(call, fields, target, queue_id)
        except Refusal as refusal:
            return self._refused(refusal.code, refusal.remark)

    def _store_one(self, call: Call, fields: SendFields, target: SendTarget, queue_id: int) -> Reply | None:
        text = fields.properties or ""
        topic = fields.topic
        if (
            target.is_retry
            or "DEL" in text  # DELAY, TIMER_DELAY_…, TIMER_DELIVER_MS, TIMER_DEL_UNIQKEY
            or p.TRANSACTION_PREPARED in text
            or p.POP_CHECK_POINT in text
            or p.MSG_REGION in text
            or _CLUSTER in text
            or not (_KEY_INSIDE in text or text.startswith(_KEY))
        ):
            draft = self._draft(fields, target, queue_id, text)
            target, topic, stored_in, sys_flag = draft.target, draft.topic, draft.queue_id, draft.sys_flag
            text, more = p.encode_properties(draft.properties), draft.answer
        else:
            stored_in, sys_flag, more = queue_id, fields.sys_flag | target.sys_flag, None
            if text[-1] != p.PAIR_END:
                text += p.PAIR_END
            text += self._suffix
        incoming = Incoming(
            topic,
            stored_in,
            call.frame.body,
            text,
            fields.born_timestamp,
            encode_host(call.peer.address),
            self._identity.store_host,
            fields.flag,
            sys_flag,
            fields.reconsume_times or 0,
        )
        stored = self._store.put(incoming)
        meter = target.meter
        meter.total += 1
        meter.times += 1
        meter.size.total += stored.size
        self._statistics.put.total += 1
        ext = {
            "msgId": self._identity.offset_id(stored.commit_log_offset),
            "queueId": str(queue_id),
            "queueOffset": str(stored.queue_offset),
            "transactionId": _unique_key(text),
            p.MSG_REGION: self._region,
            p.TRACE_ON: self._trace_on,
        }
        if more:
            ext.update(more)
        if self._waits_for_disk and _NO_WAIT not in text:
            self._answer_when_confirmed(call, stored, ext)
            return None
        return Reply(ext=ext)

    def _draft(self, fields: SendFields, target: SendTarget, queue_id: int, text: str) -> Draft:
        pairs = p.decode_properties(text)
        pairs.pop(p.POP_CHECK_POINT, None)
        if p.UNIQUE_KEY not in pairs:
            pairs[p.UNIQUE_KEY] = self._unique_ids.next()
        pairs.update(self._own)
        draft = Draft(fields, target, queue_id, pairs)
        for rule in self._rules:
            rule(draft)
        return draft

    def _store_batch(self, call: Call, fields: SendFields, target: SendTarget, queue_id: int) -> Reply | None:
        topic = fields.topic
        if target.is_retry:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"retry topic {topic} takes no batches")
        if isinstance(fields, SendHalfBatch):
            check_half_batch(
                fields,
                bytes(call.frame.body),
                added_bytes=len(self._suffix_bytes),
                log_file_bytes=self._store.settings.commit_log_file_bytes - BLANK_BYTES,
            )
            return self._store_one(call, fields, target, queue_id)
        text = fields.properties or ""
        if text and text[-1] != p.PAIR_END:
            text += p.PAIR_END
        head = Incoming(
            topic,
            queue_id,
            b"",
            "",
            fields.born_timestamp,
            encode_host(call.peer.address),
            self._identity.store_host,
            fields.flag,
            fields.sys_flag | target.sys_flag,
            fields.reconsume_times or 0,
        )
        try:
            stored = self._store.put_batch(
                head, memoryview(call.frame.body), text.encode() + self._suffix_bytes
            )
        except BodyError as problem:
            raise Refusal(ResponseCode.MESSAGE_ILLEGAL, str(problem)) from None
        count = len(stored.offsets)
        target.meter.total += count
        target.meter.times += 1
        target.meter.size.total += stored.end_offset - stored.offsets[0]
        self._statistics.put.total += count
        ext = {
            "msgId": self._identity.offset_ids(stored.offsets),
            "queueId": str(queue_id),
            "queueOffset": str(stored.queue_offset),
            p.MSG_REGION: self._region,
            p.TRACE_ON: self._trace_on,
        }
        unique_key = p.find_property(text, p.UNIQUE_KEY)
        if unique_key:
            ext["transactionId"] = unique_key
        if self._waits_for_disk and _NO_WAIT not in text:
            self._answer_when_confirmed(call, stored, ext)
            return None
        return Reply(ext=ext)

    def _answer_when_confirmed(self, call: Call, stored: Stored | StoredBatch, ext: dict[str, str]) -> None:
        def answer(ok: bool) -> None:
            call.reply(Reply(ResponseCode.SUCCESS if ok else ResponseCode.FLUSH_DISK_TIMEOUT, ext=ext))

        self._store.when_confirmed(stored.end_offset, answer)

    def _refused(self, code: int, remark: str) -> Reply:
        return Reply(code, ext={p.MSG_REGION: self._region, p.TRACE_ON: self._trace_on}, remark=remark)


def _unique_key(text: str) -> str:
    # The last one counts, as for every reader; a word that only looks like it is rare enough to be looked up.
    start = text.rfind(_KEY)
    if start and text[start - 1] != p.PAIR_END:
        return p.find_property(text, p.UNIQUE_KEY) or ""
    start += len(_KEY)
    return text[start : text.find(p.PAIR_END, start)]
