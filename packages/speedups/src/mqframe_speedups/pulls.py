"""Pulls that find messages at once, and those that wait for some, served with little Python.

What decides is the broker's own code: `PullProcessor.admit` for each kind of pull of a read, the offsets and
reads of its store. Compiled code reads the requests, chooses among a queue's entries, and among records by
the verdicts of a filter that it remembers. Any pull that is in some way unusual is left to `PullProcessor`,
with all that come behind it in the same read. A pull that waits is held by that, and answered here when
messages come, unless anything that decided is another by then.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import attrs
from msgspec.structs import replace

from mqframe.broker.consuming.long_polling import HeldPull
from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.state import BrokerState
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.offset_rules import commit_problem
from mqframe.core.consuming.pull import pull_caps, pull_code
from mqframe.core.errors import HeaderError, Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import LitePullMessage, PullFields, PullMessage
from mqframe.core.requests.needs import Need
from mqframe.core.requests.serving import Call
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import topic_part
from mqframe.core.wire.frame import Frame, HeaderForm, encode_answer
from mqframe.log import get_logger
from mqframe.net.frame_path import AlikeRequests, HoldingPeer
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.fitting import Unsound
from mqframe_speedups._native import PullAnswers, PullReader, RecordVerdicts
from mqframe_speedups.callers import ACCESS_KEY, first_frame
from mqframe_speedups.served_read import LIMIT_MAX, WORDS_BYTES, ServedRead

log: Final = get_logger("broker")

BEGINNINGS: Final = (b'{"code":11,', b'{"code":361,', b"\0\x0b", b"\x01\x69")
"""How the headers of pulls begin that are looked at: as clients write them in JSON, and in binary."""
_NUMBERS: Final = (b'"queueId":"', b'"queueOffset":"', b'"commitOffset":"', b'"opaque":')
_OPAQUE: Final = 1_000_000_007
_PLACES: Final = (1_000_000_009, 1_000_000_021, 1_000_000_033)
"""Stand in a pattern of answers for what differs: next offset, lowest, highest."""
_ENTRIES_MAX: Final = 4096
_CODES: Final = (PullMessage.CODE, LitePullMessage.CODE)


class GivenMessages(NamedTuple):
    """An answer: the whole frame, the offset to go on at, how many messages are in it, their bytes."""

    answer: bytes
    following: int
    number: int
    size: int


class Admitted(NamedTuple):
    """How pulls of one kind are served, as long as what decided is as it was `seen`.

    `queues`: of their topic that may be read; `entries`: of a queue that are looked at for one; `answers`:
    makes its answer.
    """

    seen: tuple[object, ...]
    group: SubscriptionGroupConfig
    choice: RecordChoice
    queues: int
    entries: int
    answers: PullAnswers


@attrs.define(eq=False)
class PullKind:
    """Pulls that are alike but for their queue and offsets. `fields`: of the first of them.

    `one`: what is counted of each, `none`: where it found nothing; `usual`: whether they are served here at
    all; `user`: who has to have signed them, and `needs`: what for; `admitted`: how they were served last.
    """

    one: AlikeRequests
    none: AlikeRequests
    fields: PullFields
    usual: bool
    user: str
    needs: list[Need]
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
        return made.data.startswith(BEGINNINGS, made.start + WORDS_BYTES)

    def take(self, made: ServedRead, received: float) -> None:
        """Serve the pulls of a read as far as they can be served. `received`: monotonic seconds."""
        asked: PullKind | None = None
        how: Admitted | None = None
        while made.room > 0:
            read = self._reader.read(made.data, made.start, made.signers)
            if read is None:
                if made.tells():
                    continue
                return
            end, known, *numbers = read
            kind: PullKind | None = known or self._kind_of(made.data[made.start : end])
            if kind is None:
                return  # whoever serves it says what is wrong
            if known is None:
                self._reader.know(made.data, made.start, kind, made.caller is not None)
            queue = self._queues.get((kind.fields.topic, numbers[0]))
            if not kind.usual or queue is None or numbers[1] > queue.end:
                return
            if made.caller and not made.caller.may_pull(made.peer, kind, kind.user, kind.needs):
                return
            if kind is not asked:
                asked, how = kind, self._admit(kind)
            if how is None:
                return
            if numbers[1] == queue.end:
                if not self._hold(kind, how, queue, numbers, made.peer, received):
                    return
                made.start = end
                continue
            given = self._serve(kind.fields, how, queue, numbers)
            if given is None:
                return
            made.answers.append(given.answer)
            made.requests.append(kind.one if given.number else kind.none)
            made.start, made.room = end, made.room - given.size

    def _kind_of(self, frame: bytes) -> PullKind | None:
        """What kind of pull this is; `None` where it cannot be read."""
        request = first_frame(frame)
        if request is None:
            return None
        try:
            fields = decode_fields(request.ext, PullMessage)
        except HeaderError:
            return None
        # In binary they are looked for among the fields, and not at all where one is there twice.
        once = request.form is HeaderForm.ROCKETMQ or all(frame.count(name) == 1 for name in _NUMBERS)
        usual = (
            not request.flag
            and request.code in _CODES
            and once
            and not fields.sys_flag & PullFlag.SUBSCRIPTION
        )
        user = (request.ext or {}).get(ACCESS_KEY, "")
        needs = REQUESTS[request.code].NEEDS.find(request) if usual else []
        one = AlikeRequests(request.code, 0, 1)
        none = one._replace(answered=ResponseCode.PULL_RETRY_IMMEDIATELY)
        return PullKind(one, none, fields, usual, user, needs)

    def _seen(self, fields: PullFields) -> tuple[object, ...] | None:
        """What decides how pulls of this kind are served, all of it; `None`: not here."""
        state = self._state
        members = state.clients.consumers.get(fields.consumer_group)
        if members is None:
            return None
        live, subscription = state.live, members.subscriptions.get(fields.topic)
        expression = state.filters.table.get(fields.topic, fields.consumer_group)
        wanted, changes = (subscription, expression), (state.topics.changes, state.groups.changes)
        return live.current, live.replication, changes, members, members.message_model, wanted

    def _admit(self, kind: PullKind) -> Admitted | None:
        """How to serve pulls of this kind in this read; `None`: not here."""
        seen = self._seen(kind.fields)
        if seen is None:
            return None
        if kind.admitted is None or kind.admitted.seen != seen:
            kind.admitted = self._admitted(kind.fields, seen)
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
        verdicts, scanned = choice.records, self._state.store.settings.scan_entries_max
        if choice.codes is not None:
            codes, entries = list(choice.codes), max(scanned, count)
        if isinstance(verdicts, RecordVerdicts):
            entries = scanned
        elif verdicts is not None:
            return None
        if entries > _ENTRIES_MAX:
            return None
        ext = self._pulls.where(fields, group, topic, _PLACES)
        headers = _header(ext, GetStatus.FOUND), _header(ext, GetStatus.NO_MATCHED_MESSAGE)
        named = None if fields.topic.startswith(LIGHT_PREFIX) else topic_part(fields.topic)
        answers = PullAnswers(codes, verdicts, count, size, named, headers)
        return Admitted(seen, group, choice, topic.read_queue_nums, entries, answers)

    def _serve(
        self, fields: PullFields, how: Admitted, queue: ConsumeQueue, numbers: list[int]
    ) -> GivenMessages | None:
        """What one pull is given; `None` where it is left to others."""
        queue_id, offset, commit, opaque = numbers
        if not self._is_usual(fields, how, queue, numbers):
            return None
        began = self._monotonic()
        given = self._found(fields, how, queue, (queue_id, offset, opaque))
        if given is None:
            return None
        try:
            self._note(fields, queue_id, commit, given.following)
        except Refusal:
            return None
        self._count(fields, given, self._monotonic() - began)
        return given

    def _hold(
        self, kind: PullKind, how: Admitted, queue: ConsumeQueue, numbers: list[int], peer: HoldingPeer,
        received: float,
    ) -> bool:  # fmt: skip
        """Let a pull wait for messages at the end of its queue; whether it does."""
        queue_id, offset, commit, opaque = numbers
        if not kind.fields.sys_flag & PullFlag.SUSPEND or not peer.is_free(0):
            return False
        if not self._is_usual(kind.fields, how, queue, numbers):
            return False
        fields = replace(kind.fields, queue_id=queue_id, queue_offset=offset, commit_offset=commit)
        call = Call(Frame(kind.one.code, opaque), peer, received)
        try:
            self._note(fields, queue_id, commit, offset)
            self._pulls.hold(call, fields, how.group, how.choice, partial(self._answer, how, peer))
        except Refusal:
            return False
        peer.hold(call)
        self._state.counts.found_nothing()
        return True

    def _answer(self, how: Admitted, peer: HoldingPeer, held: HeldPull) -> bool:
        """Answer a pull that waited, served as `how` says until then; whether that can be done here."""
        fields, call = held.fields, held.call
        try:
            queue = self._queues.get((fields.topic, fields.queue_id))
            if queue is None or held.looked >= queue.end or self._is_reset(fields, fields.queue_id):
                return False
            if self._seen(fields) != how.seen:
                return False
            given = self._found(fields, how, queue, (fields.queue_id, held.looked, call.frame.opaque))
            if given is None or not given.number:
                return False
            self._state.offsets.pulled(fields.consumer_group, fields.topic, fields.queue_id, given.following)
        except Refusal:
            return False
        except Exception:  # isolation boundary: what is not answered here is answered as ever
            log.exception("the shorter way of a pull that waited failed", peer=peer.address)
            return False
        self._count(fields, given)
        peer.answer_whole(call, given.answer)
        return True

    def _is_usual(self, fields: PullFields, how: Admitted, queue: ConsumeQueue, numbers: list[int]) -> bool:
        """Whether nothing but the records decides what a pull is answered."""
        queue_id, offset, commit, _ = numbers
        return (
            queue_id < how.queues
            and offset >= queue.min_offset(self._log.start)
            and not (fields.sys_flag & PullFlag.COMMIT_OFFSET and commit_problem(commit, queue.end))
            and not self._is_reset(fields, queue_id)
        )

    def _is_reset(self, fields: PullFields, queue_id: int) -> bool:
        return self._state.offsets.reset_pending(fields.consumer_group, fields.topic, queue_id)

    def _found(
        self, fields: PullFields, how: Admitted, queue: ConsumeQueue, pull: tuple[int, int, int]
    ) -> GivenMessages | None:
        """What a pull gets; `None` where Python has to look. `pull`: queue id, offset, opaque."""
        queue_id, offset, opaque = pull
        log, lookup = self._log, self._reads.lookup
        start = log.start
        low = queue.min_offset(start)
        if offset < low or self._reads.is_cold(fields.topic, queue_id, offset):
            return None
        entries = queue.read(offset, how.entries)
        place = log.files, start, log.end, log.file_bytes, lookup.recent
        found = how.answers.answer(entries, (queue_id, offset, low, queue.end, opaque), place)
        if found is None:
            return None
        answer, done, count, size, stretches = found
        following = offset + done
        if offset < queue.loaded:
            try:
                parts = _parts(answer, size, stretches)
                lookup.need_sound(queue, offset, following, stretches, parts, how.choice)
            except Unsound:
                return None
        return GivenMessages(answer, following, count, size)

    def _note(self, fields: PullFields, queue_id: int, commit: int, following: int) -> None:
        """Keep the offset that a pull brings along, and the one at which the next pull begins."""
        offsets = self._state.offsets
        if fields.sys_flag & PullFlag.COMMIT_OFFSET:
            offsets.commit(fields.consumer_group, fields.topic, queue_id, commit)
        offsets.pulled(fields.consumer_group, fields.topic, queue_id, following)

    def _count(self, fields: PullFields, given: GivenMessages, seconds: float = 0.0) -> None:
        if given.number:
            self._state.counts.got(fields.consumer_group, fields.topic, given.number, given.size, seconds)
            self.served += given.number
        else:
            self._state.counts.missed.total += 1


def _header(ext: dict[str, str], status: GetStatus) -> list[bytes]:
    """What stands before, between and behind the numbers in answers of that `status`; `ext`: their fields."""
    rest = encode_answer(_OPAQUE, pull_code(status.value, 0), ext, status.value, 0)[WORDS_BYTES:]
    header = []
    for number in (*_PLACES, _OPAQUE):
        before, _, rest = rest.partition(b"%d" % number)
        header.append(before)
    return [*header, rest]


def _parts(answer: bytes, size: int, stretches: list[tuple[int, int]]) -> list[memoryview]:
    """The last `size` bytes of an answer, as the records of each stretch."""
    records, parts = memoryview(answer)[-size:], []
    for start, end in stretches:
        parts.append(records[: end - start])
        records = records[end - start :]
    return parts
