"""Which half messages count, over all orders of failures."""

import itertools
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.rules import HalfName, OpenBatch, SinkRecord, Superseded, answer, name_of
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe.core.sending.transaction_outcome import TransactionOutcome

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
HALF = PreparedHalf("a", "orders", 0, 1, 100, "id", 3, repeatable=True)


def half(batch: int = 5, run: int = 7, token: str = "x", record: str = "r", request: int = 0) -> HalfName:
    return HalfName("stream", record, batch, run, token, request)


def state(**change: object) -> SinkRecord:
    return msgspec.structs.replace(SinkRecord(id="r", version=8, run=7, running=True, last=4), **change)  # type: ignore[arg-type]


TOKENS = {"x": (), "y": (2, 4)}
UNDER_WAY = OpenBatch(5, TOKENS, (HALF,))
LEFT = OpenBatch(5, TOKENS, (HALF,), left=True)


@pytest.mark.parametrize(
    ("record", "name", "expected"),
    [
        (None, half(), UNKNOWN),
        (state(), half(record="other"), UNKNOWN),
        (state(last=9, open=(LEFT,)), half(record="other"), UNKNOWN),
        (state(last=5, open=(UNDER_WAY,)), half(), UNKNOWN),
        (state(last=5, open=(UNDER_WAY,)), half(token="z"), ROLLBACK),
        (state(last=5, open=(LEFT,)), half(), COMMIT),
        (state(last=9, run=20, open=(LEFT,)), half(token="y"), COMMIT),
        (state(last=9, run=20, open=(LEFT,)), half(token="y", request=3), COMMIT),
        (state(last=9, run=20, open=(LEFT,)), half(token="y", request=4), ROLLBACK),
        (state(last=5, open=(UNDER_WAY,)), half(token="y", request=2), ROLLBACK),
        (state(last=9, run=20, open=(LEFT,)), half(token="z"), ROLLBACK),
        (state(last=9, run=20, open=(LEFT,)), half(batch=6), ROLLBACK),
        (state(last=5), half(), ROLLBACK),
        (state(), half(), UNKNOWN),
        (state(), half(run=6), ROLLBACK),
        (state(), half(run=8), UNKNOWN),
        (state(), half(batch=4, run=8), ROLLBACK),
    ],
)
def test_what_a_check_back_is_told(
    record: SinkRecord | None, name: HalfName, expected: TransactionOutcome
) -> None:
    assert answer(record, name) is expected


def test_a_name_goes_through_properties() -> None:
    assert name_of(half().properties()) == half()
    assert name_of({**half().properties(), "TAGS": "t"}) == half()


@pytest.mark.parametrize(
    "change",
    [
        {rules.BATCH: "-1"},
        {rules.BATCH: ""},
        {rules.RUN: "1" * 19},
        {rules.RUN: "²"},
        {rules.TOKEN: ""},
        {rules.REQUEST: "x"},
        {rules.RECORD: ""},
        {rules.QUERY: ""},
    ],
)
def test_halves_of_others_have_no_name(change: dict[str, str]) -> None:
    assert name_of({**half().properties(), **change}) is None
    assert name_of({}) is None


def test_one_batch_from_begin_to_end() -> None:
    begun = rules.begin(rules.first("r"))
    assert (begun.version, begun.run, begun.running, begun.last) == (2, 2, True, -1)
    recorded = rules.commit(
        begun, 2, OpenBatch(0, {"x": ()}, (HALF,), single=4), spark_query="q", topics=("b", "a")
    )
    assert (recorded.version, recorded.running, recorded.last) == (3, False, 0)
    assert (recorded.spark_query, recorded.topics) == ("q", ("a", "b"))
    partly = rules.ended(recorded, 0, single=4)
    assert partly is not None
    assert partly.open == (OpenBatch(0, {"x": ()}, (), single=4, left=True),)
    assert rules.ended(partly, 0, single=4) is None
    done = rules.ended(partly, 0)
    assert done is not None
    assert done.open == ()
    assert rules.ended(done, 0) is None


def test_only_the_run_that_began_last_commits() -> None:
    first = rules.begin(rules.first("r"))
    second = rules.begin(first)
    with pytest.raises(Superseded, match="batch 0 cannot be committed by run 2: run 3"):
        rules.commit(second, first.run, OpenBatch(0, {"x": ()}))
    recorded = rules.commit(second, second.run, OpenBatch(0, {"x": ()}))
    with pytest.raises(Superseded, match="batches up to 0 are recorded"):
        rules.commit(recorded, second.run, OpenBatch(0, {"x": ()}))


def test_an_aborted_run_cannot_commit() -> None:
    begun = rules.begin(rules.first("r"))
    aborted = rules.abort(begun, begun.run)
    assert aborted is not None
    assert not aborted.running
    assert answer(aborted, half(batch=0, run=begun.run)) is ROLLBACK
    with pytest.raises(Superseded):
        rules.commit(aborted, begun.run, OpenBatch(0, {"x": ()}))
    assert rules.abort(aborted, begun.run) is None


def test_a_batch_without_messages_is_not_open() -> None:
    recorded = rules.commit(rules.first("r"), 1, OpenBatch(0, {}))
    assert (recorded.last, recorded.open) == (0, ())


def test_leaving_is_said_once() -> None:
    left = rules.leave(state(last=5, open=(UNDER_WAY,)))
    assert left is not None
    assert left.open == (LEFT,)
    assert rules.leave(left) is None
    assert rules.leave(state()) is None


def test_a_batch_is_over_when_no_broker_asks_any_more() -> None:
    opened = OpenBatch(1, {"x": ()}, single=1, left=True, at_ms=1000)
    assert not rules.is_over(opened, 1000 + rules.LEFT_KEEP_MS)
    assert rules.is_over(opened, 1001 + rules.LEFT_KEEP_MS)
    assert not rules.is_over(msgspec.structs.replace(opened, left=False), 1001 + rules.LEFT_KEEP_MS)


class Driver:
    """A driver under way: what it knows of its batch. It may be one that others think is dead."""

    def __init__(self, record: SinkRecord) -> None:
        self.record = record
        self.batch = record.last + 1
        self.winners: list[str] = []
        self.to_end: list[str] = []
        self.recorded = False


def repeatable(token: str) -> bool:
    """Every other half is on a broker that takes an end again without harm; the others are on Apache's."""
    return int(token) % 2 == 0


class World:
    """Drivers begin, crash, hang and come back; tasks are repeated; brokers ask at any time, whoever, also
    one that holds an old version. Each recorded attempt is delivered once, and nothing else ever.

    Apache's brokers forget, once they have asked for a half, that the copy they keep stands for the same
    message: they go on asking after the driver's end, and would deliver again. `choice`: which of several.
    """

    def __init__(self) -> None:
        self.versions: list[SinkRecord] = [rules.first("r")]
        self.halves: dict[str, HalfName] = {}
        self.open: set[str] = set()
        self.asked: set[str] = set()
        self.delivered: dict[str, int] = {}
        self.rolled_back: set[str] = set()
        self.counting: dict[int, list[str]] = {}
        self.drivers: list[Driver] = []
        self.numbers = itertools.count()

    def publish(self, based: SinkRecord, record: SinkRecord) -> bool:
        if based.version != self.versions[-1].version:
            return False
        assert record.version == based.version + 1
        self.versions.append(record)
        return True

    def driver_ends(self, token: str, outcome: TransactionOutcome) -> None:
        if repeatable(token) and token not in self.open:
            return
        if not (token in self.asked and not repeatable(token)):
            self.open.discard(token)
        self.count(token, outcome)

    def count(self, token: str, outcome: TransactionOutcome) -> None:
        if outcome is COMMIT:
            self.delivered[token] = self.delivered.get(token, 0) + 1
        elif token not in self.delivered:
            self.rolled_back.add(token)

    def check_back(self, token: str, known: SinkRecord | None) -> None:
        if token not in self.open:
            return
        self.asked.add(token)
        outcome = answer(known, self.halves[token])
        if outcome is COMMIT and not repeatable(token) and token in self.delivered:
            outcome = ROLLBACK  # whoever answers has looked whether the message is there
        if outcome is not UNKNOWN:
            self.open.discard(token)
            self.count(token, outcome)

    # What may happen

    def driver_starts(self, choice: int = 0) -> None:
        based = self.versions[-1]
        left = rules.leave(based)
        if left is not None:
            assert self.publish(based, left)
            based = left
        for opened in based.open:
            for token in filter(repeatable, opened.tokens):
                self.driver_ends(token, COMMIT)
            cleared = rules.ended(based, opened.batch, (), opened.single)
            if cleared is not None:
                assert self.publish(based, cleared)
                based = cleared
        begun = rules.begin(based)
        assert self.publish(based, begun)
        self.drivers.append(Driver(begun))

    def task_sends(self, choice: int) -> None:
        driver = self.one_of_drivers(choice, recorded=False)
        if driver is None:
            return
        token = str(next(self.numbers))
        self.halves[token] = HalfName("stream", "r", driver.batch, driver.record.run, token, 0)
        self.open.add(token)
        if choice % 4:
            driver.winners.append(token)

    def driver_records(self, choice: int) -> None:
        driver = self.one_of_drivers(choice, recorded=False)
        if driver is None:
            return
        based = self.versions[-1]
        halves = (HALF,) * sum(map(repeatable, driver.winners))
        single = len(driver.winners) - len(halves)
        try:
            opened = OpenBatch(driver.batch, dict.fromkeys(driver.winners, ()), halves, single)
            recorded = rules.commit(based, driver.record.run, opened)
        except Superseded:
            self.drivers.remove(driver)
            return
        assert self.publish(based, recorded)
        assert driver.batch not in self.counting
        self.counting[driver.batch] = list(driver.winners)
        driver.recorded, driver.to_end, driver.record = True, list(driver.winners), recorded

    def driver_ends_one(self, choice: int) -> None:
        driver = self.one_of_drivers(choice, recorded=True)
        if driver is None:
            return
        if not driver.to_end:
            cleared = rules.ended(driver.record, driver.batch)
            if cleared is not None:
                self.publish(driver.record, cleared)
            self.drivers.remove(driver)
            return
        token = driver.to_end.pop()
        # One that hung while another took over must not end what Apache's brokers would deliver again: Spark
        # fences drivers, and this is what is left to it.
        if repeatable(token) or driver.record is self.versions[-1]:
            self.driver_ends(token, COMMIT)

    def driver_crashes(self, choice: int) -> None:
        if self.drivers:
            self.drivers.pop(choice % len(self.drivers))

    def driver_aborts(self, choice: int) -> None:
        driver = self.one_of_drivers(choice, recorded=False)
        if driver is None:
            return
        aborted = rules.abort(self.versions[-1], driver.record.run)
        if aborted is not None:
            assert self.publish(self.versions[-1], aborted)
        for token in driver.winners:
            self.driver_ends(token, ROLLBACK)
        self.drivers.remove(driver)

    def broker_asks(self, choice: int) -> None:
        """Most often somebody who has read the newest version."""
        if self.open:
            known = [None, *self.versions][choice % (len(self.versions) + 1)]
            token = sorted(self.open)[choice % len(self.open)]
            self.check_back(token, known if choice % 3 == 0 else self.versions[-1])

    def one_of_drivers(self, choice: int, *, recorded: bool) -> Driver | None:
        found = [driver for driver in self.drivers if driver.recorded is recorded]
        return found[choice % len(found)] if found else None

    # What must be true

    def check(self) -> None:
        counting = {token for tokens in self.counting.values() for token in tokens}
        assert set(self.delivered) <= counting
        assert not self.rolled_back & counting
        assert all(count == 1 for count in self.delivered.values())

    def finish(self) -> None:
        """A driver is back and sends one more batch, and brokers ask for all that is open: all is decided."""
        self.driver_starts()
        last = self.drivers[-1]
        recorded = rules.commit(self.versions[-1], last.record.run, OpenBatch(last.batch, {}))
        for token in self.halves:
            self.check_back(token, recorded)
        self.check()
        counting = {token for tokens in self.counting.values() for token in tokens}
        assert self.open == set()
        assert set(self.delivered) == counting
        assert self.rolled_back == set(self.halves) - counting


HAPPENINGS = [
    World.driver_starts,
    World.task_sends,
    World.task_sends,
    World.task_sends,
    World.driver_records,
    World.driver_ends_one,
    World.driver_ends_one,
    World.driver_crashes,
    World.driver_aborts,
    World.broker_asks,
    World.broker_asks,
]


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 1000)), min_size=10, max_size=60))
def test_whatever_happens_each_recorded_attempt_is_delivered_once(
    happenings: list[tuple[Callable[[World, int], None], int]],
) -> None:
    world = World()
    for happening, choice in happenings:
        happening(world, choice)
        world.check()
    world.finish()
