"""What exactly-once writing decides, as plain values: which half messages count, and which never will.

A record is one small state, replaced version by version; each next version can be written by one process
only (`commit_record.py`), so that two drivers can never both go on from the same one. A driver begins each
batch as a new *run*, numbered by the version that says so. Tasks name record, batch, run, a random token of
their attempt, and the number of the request in the properties of their half messages; the driver's commit
records the tokens that count, and those of their requests that do not because nobody knows whether they
arrived and they were sent anew, before it ends any half.

What a check-back is told (`answer`), first line that fits:

====================================================  ========================================================
a half of                                             answer
====================================================  ========================================================
another record                                        UNKNOWN: whoever has that one knows
a batch not recorded, of an earlier run               ROLLBACK: that run can record nothing any more
a batch not recorded, of this run or a later one      UNKNOWN: its driver has yet to decide
a batch recorded, token or request not, or all ended  ROLLBACK: of a failed, repeated or speculative attempt
a batch left to the check-backs                       COMMIT
a batch whose ends are under way                      UNKNOWN: the driver that recorded it ends it by itself
====================================================  ========================================================

COMMIT and ROLLBACK are final: no later version says otherwise of a half that is still open, and whoever
reads an old version gets the same answer or UNKNOWN.

What a driver does:

==========================  ================================================================================
when                        it
==========================  ================================================================================
a batch begins              `leave`s what an earlier driver left under way and ends it again, as far as that
                            may be repeated; then `begin`s: tasks of batches up to `last` send nothing
the tasks are done          `commit`s, ends all halves, notes with `ended` what could not be ended
the batch failed            `abort`s: nothing of the run can count any more; rolls back what it knows of it
it finds a newer version    stops (`Superseded`): another driver has taken over
==========================  ================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe.core.errors import GiveUpError
from mqframe.core.sending.transaction_outcome import TransactionOutcome

QUERY: Final = "SPARK_QUERY"
RECORD: Final = "SPARK_RECORD"
BATCH: Final = "SPARK_BATCH"
RUN: Final = "SPARK_RUN"
TOKEN: Final = "SPARK_TOKEN"
REQUEST: Final = "SPARK_REQUEST"
"""Properties of a half message that say what it belongs to."""

LEFT_KEEP_MS: Final = 4 * 24 * 3600 * 1000
"""How long the tokens of a batch that is left to check-backs are kept: brokers ask for 72 h at most."""
ONE_DRIVER: Final = "one query needs one driver and a commit path of its own"
_DIGITS_MAX: Final = 18


class Superseded(GiveUpError):
    """Another driver writes this record now; this one may neither send nor commit any more."""


class HalfName(NamedTuple):
    """What a half belongs to.

    `query`: folder of its record below the commit path; `record`: the record's own id.
    """

    query: str
    record: str
    batch: int
    run: int
    token: str
    request: int

    def properties(self) -> dict[str, str]:
        """As properties of a message."""
        return {
            QUERY: self.query,
            RECORD: self.record,
            BATCH: str(self.batch),
            RUN: str(self.run),
            TOKEN: self.token,
            REQUEST: str(self.request),
        }


def name_of(properties: Mapping[str, str]) -> HalfName | None:
    """The name in `properties`; `None` for a half that is not, or not clearly, one of this sink."""
    query, record, token = (properties.get(key, "") for key in (QUERY, RECORD, TOKEN))
    numbers = [properties.get(key, "") for key in (BATCH, RUN, REQUEST)]
    if not query or not record or not token or not all(map(_is_number, numbers)):
        return None
    batch, run, request = map(int, numbers)
    return HalfName(query, record, batch, run, token, request)


class OpenBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recorded batch whose ends are not all confirmed.

    `tokens`: attempts that count, each with the requests of it that do not; `halves`: those to end that may
    be ended again; `single`: how many others there were, which only check-backs may end again; `left`:
    whether check-backs may commit; `at_ms`: when it was recorded.
    """

    batch: int
    tokens: dict[str, tuple[int, ...]]
    halves: tuple[PreparedHalf, ...] = ()
    single: int = 0
    left: bool = False
    at_ms: int = 0


class SinkRecord(msgspec.Struct, frozen=True):
    """One version of the record.

    `id`: random, made with the record; `version`: from 1 on; `run`: the run that may commit, a version;
    `running`: whether it has yet to; `last`: the highest batch recorded, -1 for none; `open`: of these, what
    is not ended; `spark_query`: Spark's id of the stream, once known; `topics`: written to, so far.
    """

    id: str
    version: int
    run: int = 0
    running: bool = False
    last: int = -1
    open: tuple[OpenBatch, ...] = ()
    spark_query: str = ""
    topics: tuple[str, ...] = ()

    def counts(self, half: HalfName) -> bool:
        """Whether `half` is one of those that are delivered, of a batch that is open."""
        found = self.find(half.batch)
        if half.record != self.id or found is None:
            return False
        void = found.tokens.get(half.token)
        return void is not None and half.request not in void

    def find(self, batch: int) -> OpenBatch | None:
        """What is open of `batch`."""
        return next((each for each in self.open if each.batch == batch), None)


def answer(record: SinkRecord | None, half: HalfName) -> TransactionOutcome:
    """What a broker is told that asks for `half`. `record`: as last read; `None` when there is none."""
    if record is None or half.record != record.id:
        return TransactionOutcome.UNKNOWN
    if half.batch > record.last:
        return TransactionOutcome.ROLLBACK if half.run < record.run else TransactionOutcome.UNKNOWN
    found = record.find(half.batch)
    if found is None or not record.counts(half):
        return TransactionOutcome.ROLLBACK
    return TransactionOutcome.COMMIT if found.left else TransactionOutcome.UNKNOWN


def first(record_id: str) -> SinkRecord:
    """The first version: a run that is about to send its first batch."""
    return SinkRecord(id=record_id, version=1, run=1, running=True)


def begin(record: SinkRecord) -> SinkRecord:
    """A new run: no other one can record anything from now on."""
    version = record.version + 1
    return msgspec.structs.replace(record, version=version, run=version, running=True)


def abort(record: SinkRecord, run: int) -> SinkRecord | None:
    """After it, nothing of `run` can be recorded; `None` when that is so already."""
    if record.run != run:
        return None
    return msgspec.structs.replace(begin(record), running=False)


def commit(
    record: SinkRecord, run: int, opened: OpenBatch, *, spark_query: str = "", topics: Iterable[str] = ()
) -> SinkRecord:
    """`opened` is recorded by `run`. Raises `Superseded` when another run has begun since."""
    if run != record.run or opened.batch <= record.last:
        raise Superseded(
            f"batch {opened.batch} cannot be committed by run {run}: run {record.run} of another driver has "
            f"begun since, and batches up to {record.last} are recorded; {ONE_DRIVER}"
        )
    return msgspec.structs.replace(
        record,
        version=record.version + 1,
        running=False,
        last=opened.batch,
        open=(*record.open, opened) if opened.halves or opened.single else record.open,
        spark_query=spark_query or record.spark_query,
        topics=tuple(sorted({*record.topics, *topics})),
    )


def leave(record: SinkRecord) -> SinkRecord | None:
    """Whatever is open may be committed by check-backs from now on; `None` when that is so already."""
    if all(each.left for each in record.open):
        return None
    opened = tuple(msgspec.structs.replace(each, left=True) for each in record.open)
    return msgspec.structs.replace(record, version=record.version + 1, open=opened)


def ended(
    record: SinkRecord, batch: int, halves: tuple[PreparedHalf, ...] = (), single: int = 0
) -> SinkRecord | None:
    """All of `batch` has ended but for `halves` and `single` others, which are left to check-backs.

    `None` when the record says so already.
    """
    found = record.find(batch)
    if found is None:
        return None
    rest = msgspec.structs.replace(found, halves=halves, single=single, left=True)
    if rest == found:
        return None
    opened = (rest if each is found else each for each in record.open)
    kept = tuple(each for each in opened if each.halves or each.single)
    return msgspec.structs.replace(record, version=record.version + 1, open=kept)


def is_over(opened: OpenBatch, now_ms: int) -> bool:
    """Whether no broker asks for the halves of `opened` any more."""
    return opened.left and now_ms - opened.at_ms > LEFT_KEEP_MS


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
