"""Pulls of one read that find messages at once, served with little Python.

What decides is the broker's own code: `PullProcessor.admit` for each kind of pull of a read, the offsets and
reads of its store. Compiled code reads the requests and chooses among a queue's entries. Any pull that is in
some way unusual is left to `PullProcessor`, with all that come behind it in the same read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.state import BrokerState
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.consuming.offset_rules import commit_problem
from mqframe.core.consuming.pull import pull_caps
from mqframe.core.errors import FrameError, HeaderError, Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.filtering.subscription import TAG, is_tag_type
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import LitePullMessage, PullFields, PullMessage
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import topic_part
from mqframe.core.wire.frame import Body, FrameDecoder, encode_answer
from mqframe.net.frame_path import AlikeRequests
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.fitting import Unsound
from mqframe_speedups._native import PullAnswers, PullReader
from mqframe_speedups.served_read import LIMIT_MAX, ServedRead

_BEGINNINGS: Final = (b'{"code":11,', b'{"code":361,')
"""How the headers of pulls begin that are looked at: as clients write them in JSON."""
_WORDS_BYTES: Final = 8
_NUMBERS: Final = (b'"queueId":"', b'"queueOffset":"', b'"commitOffset":"', b'"opaque":')
_OPAQUE: Final = 1_000_000_007
_PLACES: Final = (1_000_000_009, 1_000_000_021, 1_000_000_033)
"""Stand in a pattern of answers for what differs: next offset, lowest, highest."""
_ENTRIES_MAX: Final = 4096
_CODES: Final = (PullMessage.CODE, LitePullMessage.CODE)


class Admitted(NamedTuple):
    """How pulls of one kind are served, as long as what decided is as it was `seen`.

    `queues`: of their topic that may be read; `entries`: of a queue that are looked at for one; `answers`:
    makes its answer.
    """

    seen: tuple[object, ...]
    choice: RecordChoice
    queues: int
    entries: int
    answers: PullAnswers


@attrs.define(eq=False)
class PullKind:
    """Pulls that are alike but for their queue and offsets. `fields`: of the first of them.

    `one`: what is counted of each; `usual`: whether they are served here at all; `admitted`: how they were
    served last.
    """

    one: AlikeRequests
    fields: PullFields
    usual: bool
    admitted: Admitted | None = None


class PullPath:
    """The shorter way of pulls of one broker. `served`: messages that were given by it."""

    def __init__(self, state: BrokerState, pulls: PullProcessor) -> None:
        self._state, self._pulls = state, pulls
        store = state.store
        self._queues, self._log, self._reads = store.files.queues, store.files.log, store.reads
        self._monotonic = state.clock.monotonic
        self._reader = PullReader()
        self.served = 0

    def is_next(self, made: ServedRead) -> bool:
        """Whether the next request may be a pull that can be served here."""
        return made.data.startswith(_BEGINNINGS, made.start + _WORDS_BYTES)

    def take(self, made: ServedRead) -> None:
        """Serve pulls as far as they can be served."""
        asked: PullKind | None = None
        how: Admitted | None = None
        while made.room > 0 and (read := self._reader.read(made.data, made.start)) is not None:
            end, known, *numbers = read
            kind: PullKind | None = known or self._kind_of(made.data[made.start : end])
            if kind is None:
                return  # whoever serves it says what is wrong
            if known is None:
                self._reader.know(made.data, made.start, kind)
            queue = self._queues.get((kind.fields.topic, numbers[0]))
            if not kind.usual or queue is None or numbers[1] >= queue.end:
                return  # most often it waits for messages
            if kind is not asked:
                asked, how = kind, self._admit(kind)
            size = 0 if how is None else self._serve(kind.fields, how, queue, numbers, made.answers)
            if not size:
                return
            made.requests.append(kind.one)
            made.start, made.room = end, made.room - size

    def _kind_of(self, frame: bytes) -> PullKind | None:
        """What kind of pull this is; `None` where it cannot be read."""
        decoder = FrameDecoder()
        decoder.receive(frame)
        try:
            request = decoder.next_frame()
            if request is None:
                return None
            fields = decode_fields(request.ext, PullMessage)
        except (FrameError, HeaderError):
            return None
        usual = (
            not request.flag
            and request.code in _CODES
            and all(frame.count(name) == 1 for name in _NUMBERS)
            and not fields.sys_flag & PullFlag.SUBSCRIPTION
            and is_tag_type(fields.expression_type or TAG)
        )
        return PullKind(AlikeRequests(request.code, 0, 1), fields, usual)

    def _admit(self, kind: PullKind) -> Admitted | None:
        """How to serve pulls of this kind in this read; `None`: not here."""
        state, fields = self._state, kind.fields
        members = state.clients.consumers.get(fields.consumer_group)
        if members is None:
            return None
        live, subscription = state.live, members.subscriptions.get(fields.topic)
        changes = state.topics.changes, state.groups.changes
        seen = live.current, live.replication, changes, members, members.message_model, subscription
        if kind.admitted is None or kind.admitted.seen != seen:
            kind.admitted = self._admitted(fields, seen)
        return kind.admitted

    def _admitted(self, fields: PullFields, seen: tuple[object, ...]) -> Admitted | None:
        settings = self._state.live.current
        if self._pulls.at_slave or self._state.live.replication.slave_reads:
            return None
        try:
            group, topic, choice = self._pulls.admit(fields)
        except Refusal:
            return None
        most = settings.pull_messages_max, settings.pull_bytes_max
        if fields.mqframe_bulk:
            most = settings.bulk_pull_messages_max, settings.bulk_pull_bytes_max
        count, size = pull_caps(fields.max_msg_nums, fields.max_msg_bytes, *most)
        size = min(size, LIMIT_MAX)
        codes, entries = None, count
        if choice.codes is not None:
            codes, entries = list(choice.codes), max(self._state.store.settings.scan_entries_max, count)
        if choice.records is not None or entries > _ENTRIES_MAX:
            return None
        ext = self._pulls.where(fields, group, topic, _PLACES)
        rest = encode_answer(_OPAQUE, ResponseCode.SUCCESS, ext, GetStatus.FOUND.value, 0)[_WORDS_BYTES:]
        header = []
        for number in (*_PLACES, _OPAQUE):
            before, _, rest = rest.partition(b"%d" % number)
            header.append(before)
        named = None if fields.topic.startswith(LIGHT_PREFIX) else topic_part(fields.topic)
        answers = PullAnswers(codes, count, size, named, [*header, rest])
        return Admitted(seen, choice, topic.read_queue_nums, entries, answers)

    def _serve(
        self, fields: PullFields, how: Admitted, queue: ConsumeQueue, numbers: list[int], answers: list[Body]
    ) -> int:
        """Serve one pull: how many bytes are given; 0 where it is left to others."""
        queue_id, offset, commit, opaque = numbers
        group, topic, log = fields.consumer_group, fields.topic, self._log
        start, high, offsets = log.start, queue.end, self._state.offsets
        low = queue.min_offset(start)
        commits = fields.sys_flag & PullFlag.COMMIT_OFFSET
        if (
            queue_id >= how.queues
            or offset < low
            or offsets.reset_pending(group, topic, queue_id)
            or (commits and commit_problem(commit, high))
            or self._reads.is_cold(topic, queue_id, offset)
        ):
            return 0
        began = self._monotonic()
        place = log.files, start, log.end, log.file_bytes, self._reads.lookup.recent
        entries = queue.read(offset, how.entries)
        given = how.answers.answer(entries, (queue_id, offset, low, high, opaque), place)
        if given is None:
            return 0
        answer, done, count, size, stretches = given
        following = offset + done
        try:
            if offset < queue.loaded:
                parts = _parts(answer, size, stretches)
                self._reads.lookup.need_sound(queue, offset, following, stretches, parts, how.choice)
            if commits:
                offsets.commit(group, topic, queue_id, commit)
            offsets.pulled(group, topic, queue_id, following)
        except (Unsound, Refusal):
            return 0
        self._state.counts.got(group, topic, count, size, self._monotonic() - began)
        answers.append(answer)
        self.served += count
        return size


def _parts(answer: bytes, size: int, stretches: list[tuple[int, int]]) -> list[memoryview]:
    """The last `size` bytes of an answer, as the records of each stretch."""
    records, parts = memoryview(answer)[-size:], []
    for start, end in stretches:
        parts.append(records[: end - start])
        records = records[end - start :]
    return parts
