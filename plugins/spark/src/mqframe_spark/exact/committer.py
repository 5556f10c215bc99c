"""What the driver of an exactly-once write does: begins batches, records them, ends their half messages."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from mqframe_transactions.rules.half_batch import EndStatus, EndsUnfinished, PreparedHalf

from mqframe import BatchTransactionProducer, Puller
from mqframe.core.errors import RetryError
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.answers import Lookup
from mqframe_spark.exact.losses import Loss, LostMessages, discarded, gone, told
from mqframe_spark.exact.place import CommitPlace, now_ms
from mqframe_spark.exact.rules import OpenBatch, SinkRecord

log = get_logger("spark")

END_PAUSES_SECONDS: Final = (0.1, 0.4, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Waited before ends are told again: a broker that starts anew takes some seconds."""
END_SECONDS: Final = 30.0
"""Waited for the answer to one end: hundreds are under way, each of which stores a batch."""
ENDS_AT_ONCE: Final = 1000
"""Told to brokers before the driver looks again whether it is still the one to tell them."""
LOOK_PAUSES_SECONDS: Final = (0.2, 0.8)
"""Waited for a topic of discarded halves that may have come into being just now."""
ONCE: Final = ()
"""Before a batch begins, what an earlier one left over is tried once: check-backs end it as well."""


class Attempt(NamedTuple):
    """What one task attempt stored: its token, the numbers of its requests that do not count, its halves."""

    token: str
    void: tuple[int, ...]
    halves: tuple[PreparedHalf, ...]


class Run(NamedTuple):
    """What tasks are told: the record's id, the run that may commit, the last batch recorded, Spark's id."""

    record: str
    run: int
    last: int
    spark_query: str


class Ends(NamedTuple):
    """How ends went.

    `open`: to be told again; `unsure`: only check-backs may; `before`, `missing`: as their status says.
    """

    open: tuple[PreparedHalf, ...] = ()
    unsure: tuple[PreparedHalf, ...] = ()
    before: tuple[PreparedHalf, ...] = ()
    missing: tuple[PreparedHalf, ...] = ()


OpenProducer = Callable[[], contextlib.AbstractContextManager[BatchTransactionProducer]]
OpenPuller = Callable[[], contextlib.AbstractContextManager[Puller]]


class Committer:
    """Writes the record at `place`.

    `producer`, `puller`: open the two when needed; `lookup`: finds messages; `fail_on_loss`: whether lost
    messages are an error.
    """

    def __init__(
        self,
        place: CommitPlace,
        producer: OpenProducer,
        puller: OpenPuller,
        lookup: Lookup,
        *,
        fail_on_loss: bool = True,
        sleep: Callable[[float], None] = time.sleep,
        now_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._place = place
        self._record = place.record()
        self._producer = producer
        self._puller = puller
        self._lookup = lookup
        self._fail_on_loss = fail_on_loss
        self._sleep = sleep
        self._now_ms = now_ms

    def recover(self) -> SinkRecord | None:
        """End what an earlier driver recorded and did not end; gives the record as it is then.

        What cannot be ended stays open: brokers ask. Raises `LostMessages`, `Superseded`.
        """
        record = self._record.read()
        if record is None or not record.open:
            return record
        record = self._published(rules.leave(record), record)
        with self._producer() as producer:
            found = [
                (opened, self._end(producer, opened.halves, TransactionOutcome.COMMIT, ONCE))
                for opened in record.open
            ]
        losses = self._discarded(record, doubtful=any(ends.before for _, ends in found))
        known = losses is not None
        self._report([*(losses or ()), *(loss for opened, ends in found for loss in _gone(opened, ends))])
        for opened, ends in found:
            halves = ends.open if known else ends.open + ends.before
            single = 0 if known and rules.is_over(opened, self._now_ms()) else opened.single
            record = self._published(rules.ended(record, opened.batch, halves, single), record)
        return record

    def begin(self, record: SinkRecord | None) -> Run:
        """A new run, which no other one can commit beside. Raises `Superseded`."""
        begun = rules.begin(record) if record is not None else rules.first(uuid.uuid4().hex)
        self._record.publish(begun)
        return run_of(begun)

    def commit(
        self, run: Run, batch: int, attempts: Sequence[Attempt], spark_query: str = ""
    ) -> tuple[PreparedHalf, ...]:
        """Record that `attempts` count, then end them; gives what could not be ended: check-backs do that.

        A batch that was recorded before is not touched. Raises `LostMessages`, `Superseded`.
        """
        record = self._record.read()
        if record is None:
            raise rules.Superseded(f"the commit record in {self._place.root} is gone; {rules.ONE_DRIVER}")
        if batch <= record.last:
            return ()  # whatever `attempts` are: check-backs know whether they count
        halves = tuple(half for attempt in attempts for half in attempt.halves)
        opened = OpenBatch(
            batch,
            {attempt.token: attempt.void for attempt in attempts if attempt.halves},
            tuple(half for half in halves if half.repeatable),
            sum(half.count for half in halves if not half.repeatable),
            at_ms=self._now_ms(),
        )
        topics = {half.topic for half in halves}
        record = rules.commit(record, run.run, opened, spark_query=spark_query, topics=topics)
        self._record.publish(record)
        if not halves:
            return ()
        with self._producer() as producer:
            ends = self._end(producer, halves, TransactionOutcome.COMMIT, END_PAUSES_SECONDS, record)
        return self._settle(record, opened, ends)

    def abort(self, run: Run, attempts: Sequence[Attempt]) -> None:
        """Nothing of `run` counts; what is known of it is rolled back, the rest when brokers ask."""
        record = self._record.read()
        if record is None or record.run != run.run:
            return
        if record.running:
            self._published(rules.abort(record, run.run), record)
            self.roll_back(attempts)

    def roll_back(self, attempts: Iterable[Attempt]) -> None:
        """Drop the halves of `attempts`. What fails is left to check-backs."""
        halves = tuple(half for attempt in attempts for half in attempt.halves)
        if halves:
            with self._producer() as producer:
                self._end(producer, halves, TransactionOutcome.ROLLBACK, ONCE)

    # Ends

    def _end(
        self,
        producer: BatchTransactionProducer,
        halves: Sequence[PreparedHalf],
        outcome: TransactionOutcome,
        pauses: tuple[float, ...],
        record: SinkRecord | None = None,
    ) -> Ends:
        """End `halves`, again after each of `pauses` those that could not be told.

        `record`: what must still be the newest version: should this process outlive its driver, it must not
        go on ending what check-backs of the next one end.
        """
        found: dict[EndStatus, list[PreparedHalf]] = {status: [] for status in EndStatus}
        open_, again = tuple(halves), list(pauses)
        while open_:
            statuses: list[EndStatus | None] = []
            for begin in range(0, len(open_), ENDS_AT_ONCE):
                self._must_be_newest(record)
                statuses += _told(producer, open_[begin : begin + ENDS_AT_ONCE], outcome)
            left = []
            for half, status in zip(open_, statuses, strict=True):
                if status is None or (status is EndStatus.UNCERTAIN and half.repeatable):
                    left.append(half)
                else:
                    found[status].append(half)
            open_ = tuple(left)
            if open_ and not again:
                break
            if open_:
                self._sleep(again.pop(0))
        return Ends(
            open_,
            tuple(found[EndStatus.UNCERTAIN]),
            tuple(found[EndStatus.ENDED_BEFORE]),
            tuple(found[EndStatus.NOT_FOUND]),
        )

    def _must_be_newest(self, record: SinkRecord | None) -> None:
        newest = self._record.read() if record is not None else None
        if record is not None and (newest is None or newest.version != record.version):
            raise rules.Superseded(f"another driver goes on with batch {record.last}; {rules.ONE_DRIVER}")

    def _settle(self, record: SinkRecord, opened: OpenBatch, ends: Ends) -> tuple[PreparedHalf, ...]:
        """Note what became of a batch; gives what is left to check-backs. Raises `LostMessages`."""
        losses: list[Loss] | None = []
        if ends.before:
            # Nobody but this driver can have ended them: an end that was told twice, or a discard.
            brokers = {half.broker_name for half in ends.before}
            losses = self._discarded(record, brokers, doubtful=True)
        self._report([*(losses or ()), *_gone(opened, ends)])
        left = ends.open + ends.unsure
        again = tuple(half for half in ends.open if half.repeatable)
        if losses is None:
            again += tuple(half for half in ends.before if half.repeatable)
        single = sum(half.count for half in left if not half.repeatable)
        self._published(rules.ended(record, opened.batch, again, single), record)
        return left

    def _discarded(
        self, record: SinkRecord, brokers: Iterable[str] | None = None, *, doubtful: bool
    ) -> list[Loss] | None:
        """What was discarded; `None`: not known yet. `doubtful`: brokers say that halves have ended."""
        pauses = LOOK_PAUSES_SECONDS if doubtful else ()
        try:
            with self._puller() as puller:
                return discarded(puller, self._lookup, record, brokers, pauses=pauses, sleep=self._sleep)
        except RetryError as problem:
            log.warning("it is not known yet whether messages were discarded", reason=str(problem))
            return None

    def _report(self, losses: Sequence[Loss]) -> None:
        if not losses:
            return
        words = told(f"{self._place.root}/{self._place.query}", losses)
        if self._fail_on_loss:
            raise LostMessages(f"{words}; failOnDataLoss = 'false' goes on without them")
        log.warning(words)

    def _published(self, changed: SinkRecord | None, record: SinkRecord) -> SinkRecord:
        if changed is None:
            return record
        self._record.publish(changed)
        return changed


def run_of(record: SinkRecord) -> Run:
    """What tasks need to know of `record`."""
    return Run(record.id, record.run, record.last, record.spark_query)


def _told(
    producer: BatchTransactionProducer, halves: Sequence[PreparedHalf], outcome: TransactionOutcome
) -> Sequence[EndStatus | None]:
    try:
        return producer.end(halves, outcome, timeout=END_SECONDS)
    except EndsUnfinished as problem:
        log.info("not all ends were told", reason=str(problem))
        return problem.statuses


def _gone(opened: OpenBatch, ends: Ends) -> list[Loss]:
    return gone(opened.batch, ends.missing)
