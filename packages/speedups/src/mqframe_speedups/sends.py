"""Ordinary sends of one read, batches too, laid out by compiled code and applied to the store at once.

The compiled code decides nothing: it takes frames that it can lay out to the byte as `SendProcessor` would
have them stored, and leaves the first one that is different in any way, with all behind it, to that. What
waits elsewhere, such as a half, is laid out as the rules said of the first of its kind (`RulesAsked`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import randrange
from typing import Any, Final, Protocol, cast, runtime_checkable

from mqframe.broker.sending.processor import NO_WAIT, SendProcessor
from mqframe.broker.sending.targets import SendTarget
from mqframe.broker.state import BrokerState
from mqframe.broker.tables.statistics import SIZE_BOUNDS
from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.delay.options import DELAY_HINT
from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages import properties as p
from mqframe.core.messages.sent_properties import WORDS_OF_NOTES
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.serving import Reply
from mqframe.core.sending.message_type import FIFO, NORMAL
from mqframe.core.storage.property_crc import PROPERTY_CRC
from mqframe.core.storage.record import BLANK_BYTES
from mqframe.core.wire.frame import Body, FrameDecoder, encode_answer
from mqframe.net.frame_path import AlikeRequests, LateAnswers, LateReply
from mqframe.store.appending.appender import Appended
from mqframe_speedups._native import Keys, Laid, NewEntries, SendLayout
from mqframe_speedups.rules_asked import APART, RulesAsked
from mqframe_speedups.served_read import LIMIT_MAX, WORDS_BYTES, ServedRead

BEGINNINGS: Final = (
    b'{"code":310,', b'{"code":320,', b'{"code":10,', b"\x01\x36", b"\x01\x40", b"\0\x0a"
)  # fmt: skip
"""How the headers of most sends begin, in JSON and in binary."""
_NOT_ORDINARY: Final = (
    DELAY_HINT,
    f"{p.CLUSTER}{p.NAME_END}",
    p.MSG_REGION,
    *WORDS_OF_NOTES,
    PROPERTY_CRC,
    p.POP_CHECK_POINT,
)
"""With one of these in its properties a message is stored otherwise than as it came."""
_OPAQUE: Final = 1_000_000_007
_KEY: Final = "-key-"
_OTHER_CHARS: Final = 512
"""More than all numbers, and a topic of those that go this way, take of a header."""


@runtime_checkable
class NotesElsewhere(Protocol):
    """An index of keys like that of the service `index`: it says what its new entries are kept in."""

    def note_in(self, new_entries: Any, hashed: type, /) -> None:
        """As `IndexFiles.note_in`."""


def why_not(state: BrokerState) -> str:
    """Why sends of a broker cannot go the shorter way; empty where they can."""
    if not isinstance(state.store.files.key_index, NotesElsewhere | None):
        return "the index of keys is not that of the service index"
    return ""


class SendPath:
    """The shorter way of sends of one broker.

    `served`: messages that were stored by it; `waits`: whether answers wait for the disk or for copies.
    """

    def __init__(self, state: BrokerState, sends: SendProcessor) -> None:
        self._state, self._sends = state, sends
        self._store, self._statistics = state.store, state.counts
        self._appender, self._log = state.store.appender, state.store.files.log
        index = state.store.files.key_index
        self._indexes = index is not None
        self.waits = sends.waits
        if isinstance(index, NotesElsewhere):
            index.note_in(NewEntries, Keys)
        self._targets: dict[str, SendTarget] = {}
        self._rules = RulesAsked(state, sends)
        self._changes = -1
        self._layout: SendLayout | None = None
        self.served = 0

    def take_one(
        self, request: SendMessageV2, body: Body, born_host: bytes, received: float
    ) -> Reply | LateReply | None:
        """As `FramePath.take_one`, but that it may raise for what no request can hold."""
        now, topic = self._state.clock.now_ms(), request.topic
        layout = self._ready(now)
        text = request.properties
        if layout is None or not text or request.batch or request.unit_mode:
            return None
        net, chars = self._state.net, len(text) + len(request.producer_group) + len(request.default_topic)
        chars += _OTHER_CHARS
        if chars > net.header_bytes_max or chars + len(body) > net.frame_bytes_max:
            return None
        if topic not in self._targets and not self._admit(layout, topic):
            return None
        queue_id = request.queue_id
        if queue_id < 0:
            queue_id = randrange(self._targets[topic].write_queues)
        place = self._place(born_host, now)
        numbers = (
            queue_id,
            request.sys_flag,
            request.born_timestamp,
            request.flag,
            request.reconsume_times or 0,
            request.default_topic_queue_nums,
            request.max_reconsume_times or 0,
        )
        laid = layout.lay_one(topic, numbers, text, cast("bytes", body), place)
        if laid is None or not self._write(laid, now):
            return None
        [(_, _, offset, _, _)] = laid.runs
        reply = Reply(
            ext={
                "msgId": self._state.identity.offset_id(place[1]),
                "queueId": str(queue_id),
                "queueOffset": str(offset),
                "transactionId": p.find_property(text, p.UNIQUE_KEY) or "",
                **self._sends.marks,
            }
        )
        if self.waits and not laid.at_once:
            return partial(self._reply, self._log.end, received, reply)
        self._statistics.put_times.add((self._state.clock.monotonic() - received) * 1000)
        return reply

    def _place(
        self, born_host: bytes, now: int
    ) -> tuple[bytes, int, int, int, int, Callable[[tuple[str, int]], object | None]]:
        """Where what comes of `born_host` goes in the log, and its limits there (`SendLayout.lay`)."""
        end, file = self._log.end, self._log.files[-1]
        room = file.base + file.size - BLANK_BYTES - end
        body_bytes_max = min(self._store.settings.body_bytes_max, LIMIT_MAX)
        return born_host, end, room, now, body_bytes_max, self._store.files.queues.get

    def _ready(self, now: int) -> SendLayout | None:
        """What lays out, which knows the topics as they are; `None`: not at the moment."""
        if now < self._appender.store_time or not self._log.files or self._store.refusals.now() is not None:
            return None
        layout = self._layout or self._settled()
        if self._changes != self._state.topics.changes:
            layout.forget()
            self._targets.clear()
            self._rules.forget()
            self._changes = self._state.topics.changes
        if self._rules.is_changed():
            layout.forget_ways()
        return layout

    def take(self, made: ServedRead, born_host: bytes) -> None:
        """Serve sends as far as they can be served."""
        now = self._state.clock.now_ms()
        layout = self._ready(now)
        if layout is None:
            return
        while True:
            laid = layout.lay(made.data, made.start, self._place(born_host, now), made.signers)
            if laid is not None and laid.count:
                # Answers that wait leave without those that do not: the first of a read say which are served.
                if (made.sent and laid.at_once is not made.at_once) or not self._write(laid, now):
                    break
                made.at_once = laid.at_once
                number = sum([number for _, _, number in laid.kinds])
                made.sent += number
                made.batched = made.batched or laid.count > number
                made.answers.append(laid.answers)
                made.requests += [
                    AlikeRequests(code, FLAG_ONEWAY if oneway else 0, number)
                    for code, oneway, number in laid.kinds
                ]
            if laid is not None:
                made.start = laid.stopped
            if not (made.tells() if laid is None else self._tells(layout, laid, made)):
                break

    def _tells(self, layout: SendLayout, laid: Laid, made: ServedRead) -> bool:
        """Say what has to be known of what `laid` stopped at; whether it can be served now."""
        if laid.unknown is not None:
            return self._admit(layout, laid.unknown)
        if laid.undecided is not None:
            return self._rules.tell(layout, self._targets[laid.undecided[0]], laid.undecided)
        return made.tells()

    def answered(self, made: ServedRead, received: float, answers: bytes) -> bytes | LateAnswers:
        """The `answers` to what was `made`, at once or once all that is in the log by now is confirmed."""
        if self.waits and not made.at_once:
            return partial(self._answer, self._log.end, made.sent, received, answers)
        self._statistics.put_times.add((self._state.clock.monotonic() - received) * 1000, made.sent)
        return answers

    def _answer(
        self, end: int, number: int, received: float, answers: bytes, take: Callable[[bytes, int], None]
    ) -> None:
        """Have `take` take the answers to `number` sends once log offset `end` is confirmed, or is not."""

        def answer(code: int) -> None:
            take(_with_code(answers, code) if code else answers, code)

        self._sends.when_decided(end, number, received, answer)

    def _reply(self, end: int, received: float, reply: Reply, take: Callable[[Reply], None]) -> None:
        """Have `take` take the `reply` to one send once log offset `end` is confirmed, or is not."""

        def answer(code: int) -> None:
            reply.code = code
            take(reply)

        self._sends.when_decided(end, 1, received, answer)

    def _write(self, laid: Laid, now: int) -> bool:
        """Write what was laid out; False where the disk fails, as whoever serves it then will say."""
        file = self._log.files[-1]
        try:
            file.write(self._log.end - file.base, laid.records)
        except StoreUnavailable:
            return False
        appender, waiting = self._appender, self._appender.waiting
        self._log.end = laid.end
        appender.store_time = now
        last = len(laid.runs) - 1
        for number, (end, queue, first, entries, codes) in enumerate(laid.runs):
            queue.next_offset = first + len(codes)
            # The keys of all go with the run that ends last: the index takes them in the order of the log.
            keys: Any = laid.keys if number == last and self._indexes else []
            waiting.append(Appended(end, queue, first, entries, codes, queue.topic, keys, now))
        for counted, in_order, count, size, times in laid.puts:
            # By its topic, or as the rules said.
            if isinstance(counted, str):
                counted = self._targets[counted].meter, FIFO if in_order else NORMAL
            meter, kind = counted
            meter.add(count, size, kind)
            meter.times += times - 1
        self._statistics.put.total += laid.count
        self.served += laid.count
        return True

    def _admit(self, layout: SendLayout, topic: str) -> bool:
        """Let messages to `topic` go this way, once one has gone the other one."""
        target = self._state.sends.known(topic)
        if target is None or target.is_retry:
            return False
        self._targets[topic] = target
        layout.admit(topic, target.queues, target.sys_flag)
        return True

    def _settled(self) -> SendLayout:
        """Made with the first send: a broker knows its port by then."""
        state, sends = self._state, self._sends
        settings = self._store.settings
        answer = {"msgId": "", "queueId": _KEY, **sends.marks, _KEY: ""}
        header = encode_answer(_OPAQUE, 0, answer, None, 0)[WORDS_BYTES:]
        begin, _, rest = header.partition(b'","queueId":"%b"' % _KEY.encode())
        marks, _, rest = rest.partition(b',"%b":""' % _KEY.encode())
        middle, _, end = rest.partition(b"%d" % _OPAQUE)
        words = {*(word for word, _ in sends.rules.words), *_NOT_ORDINARY}
        self._layout = layout = SendLayout(
            suffix=sends.suffix_bytes,
            guarded=settings.property_crc,
            words=sorted(word.encode() for word in words),
            diverting=[name.encode() for name in self._rules.names],
            apart=sorted(name.encode() for name in APART),
            batch_words=list(sends.rules.batch_words),
            at_once=[NO_WAIT.encode()] if self.waits else [],
            store_host=state.identity.store_host,
            offset_id_head=state.identity.offset_id(0)[:-16].encode(),
            answer=(begin, marks, middle, end),
            frame_bytes_max=state.net.frame_bytes_max,
            header_bytes_max=state.net.header_bytes_max,
            text_max=min(sends.keys_looked_at_from, LIMIT_MAX),
            batch_messages_max=min(settings.batch_messages_max, LIMIT_MAX),
            batch_keys_max=min(settings.message_keys_max, LIMIT_MAX),
            size_bounds=list(SIZE_BOUNDS),
        )
        return layout


def _with_code(answers: bytes, code: int) -> bytes:
    """The same answers with another code."""
    decoder, found = FrameDecoder(), []
    decoder.receive(answers)
    while (frame := decoder.next_frame()) is not None:
        found.append(encode_answer(frame.opaque, code, frame.ext, None, 0))
    return b"".join(found)
