"""Pulls of one read that find messages at once, served with little Python.

What decides is the broker's own code: `PullProcessor.admit` for each kind of pull of a read, the offsets and
reads of its store. Compiled code reads the requests and chooses among a queue's entries. Any pull that is in
some way unusual is left to `PullProcessor`, with all that come behind it in the same read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.offset_rules import commit_problem
from mqframe.core.consuming.pull import pull_caps
from mqframe.core.errors import FrameError, HeaderError, Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.filtering.subscription import TAG, is_tag_type
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import LitePullMessage, PullFields, PullMessage
from mqframe.core.storage.found import GetStatus
from mqframe.core.wire.frame import Body, FrameDecoder, encode_answer
from mqframe.net.frame_path import AlikeRequests
from mqframe.store.queues.choosing import Chosen
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.fitting import Damaged, Unsound
from mqframe.store.reading.log_window import WaitsForDisk
from mqframe_speedups._native import PullReader, choose
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
    """How pulls of one kind are served, as long as the first four are what they are.

    `messages`, `size_bytes`: what one gets at most; `entries`: of a queue that are looked at for it;
    `answer`: the header of its answer, with places for next, lowest and highest offset and opaque.
    """

    settings: BrokerSettings
    group: SubscriptionGroupConfig
    topic: TopicConfig
    choice: RecordChoice
    codes: list[int] | None
    messages: int
    size_bytes: int
    entries: int
    answer: bytes


@attrs.define(eq=False)
class PullKind:
    """Pulls that are alike but for their queue and offsets. `fields`: of the first of them.

    `usual`: whether they are served here at all; `admitted`: how they were served last.
    """

    code: int
    fields: PullFields
    usual: bool
    admitted: Admitted | None = None


class PullPath:
    """The shorter way of pulls of one broker. `served`: messages that were given by it."""

    def __init__(self, state: BrokerState, pulls: PullProcessor) -> None:
        self._state, self._pulls = state, pulls
        self._store, self._log = state.store, state.store.files.log
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
            queue = self._store.files.queues.get((kind.fields.topic, numbers[0]))
            if not kind.usual or queue is None or numbers[1] >= queue.end:
                return  # most often it waits for messages
            if kind is not asked:
                asked, how = kind, self._admit(kind)
            size = 0 if how is None else self._serve(kind.fields, how, queue, numbers, made.answers)
            if not size:
                return
            made.requests.append(AlikeRequests(kind.code, 0, 1))
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
        return PullKind(request.code, fields, usual)

    def _admit(self, kind: PullKind) -> Admitted | None:
        """How to serve pulls of this kind in this read; `None`: not here."""
        if self._pulls.at_slave or self._state.live.replication.slave_reads:
            return None
        try:
            group, topic, choice = self._pulls.admit(kind.fields)
        except Refusal:
            return None
        settings, last = self._state.live.current, kind.admitted
        if (
            last is None
            or last.settings is not settings
            or last.group is not group
            or last.topic is not topic
            or last.choice != choice
        ):
            kind.admitted = last = self._admitted(kind.fields, settings, group, topic, choice)
        return last

    def _admitted(
        self,
        fields: PullFields,
        settings: BrokerSettings,
        group: SubscriptionGroupConfig,
        topic: TopicConfig,
        choice: RecordChoice,
    ) -> Admitted | None:
        most = settings.pull_messages_max, settings.pull_bytes_max
        if fields.mqframe_bulk:
            most = settings.bulk_pull_messages_max, settings.bulk_pull_bytes_max
        count, size = pull_caps(fields.max_msg_nums, fields.max_msg_bytes, *most)
        size = min(size, LIMIT_MAX)
        codes, entries = None, count
        if choice.codes is not None:
            codes, entries = list(choice.codes), max(self._store.settings.scan_entries_max, count)
        if choice.records is not None or entries > _ENTRIES_MAX:
            return None
        ext = self._pulls.where(fields, group, topic, _PLACES)
        header = encode_answer(_OPAQUE, ResponseCode.SUCCESS, ext, GetStatus.FOUND.value, 0)[_WORDS_BYTES:]
        header = header.replace(b"%", b"%%")
        for number in (*_PLACES, _OPAQUE):
            header = header.replace(b"%d" % number, b"%d")
        return Admitted(settings, group, topic, choice, codes, count, size, entries, header)

    def _serve(
        self, fields: PullFields, how: Admitted, queue: ConsumeQueue, numbers: list[int], answers: list[Body]
    ) -> int:
        """Serve one pull: how many bytes are given; 0 where it is left to others."""
        queue_id, offset, commit, opaque = numbers
        group, topic = fields.consumer_group, fields.topic
        low, high, offsets = queue.min_offset(self._log.start), queue.end, self._state.offsets
        commits = fields.sys_flag & PullFlag.COMMIT_OFFSET
        if (
            queue_id >= how.topic.read_queue_nums
            or offset < low
            or offsets.reset_pending(group, topic, queue_id)
            or (commits and commit_problem(commit, high))
            or self._store.reads.is_cold(topic, queue_id, offset)
        ):
            return 0
        began = self._state.clock.monotonic()
        entries = queue.read(offset, how.entries)
        log = self._log
        found = choose(entries, how.messages, how.codes, how.size_bytes, (log.start, log.end), log.file_bytes)
        if found is None:
            return 0
        done, stretches, lasts, count, size = found
        chosen = Chosen(GetStatus.FOUND, offset + done, stretches, count, size, lasts)
        lookup = self._store.reads.lookup
        try:
            parts = lookup.parts(queue, entries, offset, chosen, how.size_bytes, lookup.recent, how.choice)
            if commits:
                offsets.commit(group, topic, queue_id, commit)
            offsets.pulled(group, topic, queue_id, chosen.following)
        except (Damaged, Unsound, WaitsForDisk, Refusal):
            return 0
        self._state.counts.got(group, topic, count, size, self._state.clock.monotonic() - began)
        header = how.answer % (chosen.following, low, high, opaque)
        words = (len(header) + size + 4).to_bytes(4) + len(header).to_bytes(4)
        answers += [words, header, *parts]
        self.served += count
        return size
