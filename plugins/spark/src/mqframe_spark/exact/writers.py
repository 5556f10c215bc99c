"""Writing with `exactlyOnce`: tasks store half messages, and the driver's commit has them delivered.

Which processes Spark has for it (source: PythonStreamingWrite.scala, PythonWrite.scala): on the driver, one
that makes the writer for each batch and each micro-batch, pickles it for the tasks and ends; then one for the
commit or the abort. Of a batch the latter gets the pickled writer, of a stream it makes a new one. Only tasks
are told which query and micro-batch they work for, so they pass it on.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import msgspec
import pyarrow as pa
from mqframe_transactions.rules.half_batch import PreparedHalf
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from mqframe import BatchTransactionProducer, ProducerSettings, Puller
from mqframe.core.errors import FixError, RetryError
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe.log import get_logger
from mqframe_spark.exact.answering import ensure_answers, lookup
from mqframe_spark.exact.answers import Answers
from mqframe_spark.exact.committer import Attempt, Committer, Run, run_of
from mqframe_spark.exact.place import CommitPlace, batch_place, forget_unnamed, group_of, now_ms, stream_place
from mqframe_spark.exact.preparing import Preparation
from mqframe_spark.exact.rules import HalfName
from mqframe_spark.retrying import retrying
from mqframe_spark.sink.delivery import with_rows, writable_queues
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing import OutgoingBatches
from mqframe_spark.sink.task_facts import BATCH_ID, QUERY_ID, partition, told
from mqframe_spark.wire import connect
from mqframe_spark.worker_socket import InTasks

log = get_logger("spark")

_HALVES = msgspec.msgpack.Decoder(tuple[PreparedHalf, ...])


@attrs.frozen
class Prepared(WriterCommitMessage):
    """What a task tells the driver. `halves`: packed by `pack`; the rest as of `Attempt` and `Run`."""

    run: Run
    spark_query: str
    token: str
    void: tuple[int, ...]
    halves: bytes

    def attempt(self) -> Attempt:
        """What was stored."""
        return Attempt(self.token, self.void, _HALVES.decode(zlib.decompress(self.halves)))


def pack(halves: Sequence[PreparedHalf]) -> bytes:
    """`halves` in a fifteenth of their size: of Apache's brokers there is one for each row."""
    return zlib.compress(msgspec.msgpack.encode(halves), 1)


class _Writer:
    """What both kinds have in common: picklable, with connections made where they are needed."""

    def __init__(self, options: SinkOptions, place: CommitPlace) -> None:
        self._options = options
        self.place = place
        self._group = group_of(options, place)

    def producer(self) -> BatchTransactionProducer:
        """A producer that prepares, ends, and answers brokers meanwhile."""
        options = self._options
        return BatchTransactionProducer(
            self._group,
            check=Answers(self.place.root, lookup(options), options.store).check,
            nameserver=options.nameserver,
            settings=ProducerSettings(body_bytes_max=2 * BODY_BYTES_MAX),
            **options.access.client_arguments(),
        )

    def puller(self) -> Puller:
        """For what only a reader can ask."""
        options = self._options
        return Puller(self._group, nameserver=options.nameserver, **options.access.client_arguments())

    def committer(self) -> Committer:
        """Writes the record; for the driver."""
        options = self._options
        return Committer(
            self.place, self.producer, self.puller, lookup(options), fail_on_loss=options.fail_on_data_loss
        )

    def answer(self, topics: Sequence[str]) -> None:
        """Have brokers answered for as long as this driver lives."""
        ensure_answers(self._options, self.place.root, self._group, topics)

    def commit(
        self, run: Run, batch: int, messages: Sequence[WriterCommitMessage | None], spark_query: str = ""
    ) -> tuple[PreparedHalf, ...]:
        """Record what counts and have it delivered; gives what could not be told."""
        attempts = _attempts(messages, run)
        # A column may have named topics that nobody knew of before.
        self.answer(sorted({half.topic for attempt in attempts for half in attempt.halves}))
        return self.committer().commit(run, batch, attempts, spark_query)

    def prepare(self, iterator: Iterator[pa.RecordBatch], run: Run, batch: int, spark_query: str) -> Prepared:
        """Runs in a task."""
        options, where = self._options, f"partition {partition()}"
        token = uuid.uuid4().hex[:16]
        filled = with_rows(iterator)
        if filled is None:
            return Prepared(run, spark_query, token, (), pack(()))
        name = HalfName(self.place.query, run.record, batch, run.run, token, 0)
        wire = connect(options.nameserver, self._group, options.access)
        try:
            with self.producer() as producer:
                outgoing = OutgoingBatches(
                    options,
                    lambda topic: retrying(lambda: writable_queues(wire, topic)),
                    UniqueKeys(producer.client_id),
                    where=where,
                )
                done = Preparation(producer, name, where=where)
                done.rows(outgoing, filled, options.in_flight_requests)
        finally:
            wire.close()
        return Prepared(run, spark_query, token, tuple(done.void), pack(done.halves))


class ExactBatchWriter(InTasks, DataSourceArrowWriter):
    """Writes a frame once. With option `queryName`, a later write of that name sends nothing.

    Raises `SettingError` for options that do not fit, `LostMessages` for what an earlier write of that name
    lost.
    """

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._writer = _Writer(options, batch_place(options))
        forget_unnamed(self._writer.place.root, now_ms(), options.store)
        committer = self._writer.committer()
        record = committer.recover()
        if record is not None and record.open:
            raise RetryError(
                _unfinished(self._writer, sum(_count(each.halves, each.single) for each in record.open))
            )
        self._run = committer.begin(record) if record is None or record.last < 0 else run_of(record)
        self._writer.answer(record.topics if record else ())
        if self._run.last >= 0:
            log.warning("nothing is written: that name was written before", queryName=options.query_name)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers hold all of its messages."""
        if self._run.last >= 0:
            return _nothing(iterator, self._run, "")
        return self._writer.prepare(iterator, self._run, 0, "")

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record what counts, then have it delivered. Raises `RetryError` while a broker cannot be told."""
        if self._run.last < 0:
            left = self._writer.commit(self._run, 0, messages)
            if left:
                raise RetryError(_unfinished(self._writer, _count(left, 0)))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing counts."""
        if self._run.last < 0:
            self._writer.committer().abort(self._run, _attempts(messages, self._run))


class ExactStreamWriter(InTasks, DataSourceStreamArrowWriter):
    """Writes each micro-batch once, however often it is run, and whoever runs it.

    Spark pickles the writer of a micro-batch for its tasks, and no other one: then its run begins. Raises
    `SettingError` for options that do not fit, `LostMessages` for what an earlier driver lost.
    """

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._writer = _Writer(options, stream_place(options))
        self._run: Run | None = None
        self._record = self._writer.committer().recover()
        self._writer.answer(self._record.topics if self._record else ())

    def __getstate__(self) -> dict[str, Any]:
        if self._run is None:
            self._run = self._writer.committer().begin(self._record)
        return {"_writer": self._writer, "_run": self._run}

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs in a task; returns when brokers hold all of its messages."""
        run = self._run
        assert run is not None
        query, batch = told(QUERY_ID, "exactlyOnce"), int(told(BATCH_ID, "exactlyOnce"))
        if run.spark_query and run.spark_query != query:
            raise FixError(
                f"the commit record in {self._writer.place.root} is that of query {run.spark_query}, this "
                f"is query {query}: each query needs its own commitPath, and a new checkpoint a new one"
            )
        if batch <= run.last:
            return _nothing(iterator, run, query)
        return self._writer.prepare(iterator, run, batch, query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Record what counts, then have it delivered; what cannot be told now brokers ask for."""
        first = next((each for each in messages if isinstance(each, Prepared)), None)
        if first is None:
            return  # no tasks, no messages
        left = self._writer.commit(first.run, batchId, messages, first.spark_query)
        if left:
            log.warning(
                "brokers cannot be told to deliver; they will ask", batch=batchId, messages=_count(left, 0)
            )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing counts."""
        first = next((each for each in messages if isinstance(each, Prepared)), None)
        if first is not None:
            self._writer.committer().abort(first.run, _attempts(messages, first.run))


def _attempts(messages: Sequence[WriterCommitMessage | None], run: Run) -> list[Attempt]:
    found = [each for each in messages if isinstance(each, Prepared)]
    for each in found:
        if each.run.run != run.run:
            raise FixError(f"tasks of run {each.run.run} and of run {run.run} are committed together")
    return [each.attempt() for each in found]


def _nothing(iterator: Iterator[pa.RecordBatch], run: Run, spark_query: str) -> Prepared:
    for _ in iterator:
        pass  # Spark waits until its rows were taken
    return Prepared(run, spark_query, "", (), pack(()))


def _count(halves: Sequence[PreparedHalf], single: int) -> int:
    return sum(half.count for half in halves) + single


def _unfinished(writer: _Writer, count: int) -> str:
    return (
        f"all is recorded in {writer.place.root}, but {count} messages are not known to be delivered: their "
        "brokers cannot be told now. They ask for them while somebody answers: python -m "
        "mqframe_spark.exact.check_back_answers, or a write with the same queryName"
    )
