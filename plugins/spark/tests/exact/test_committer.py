"""What a driver records, ends and reports, with a producer and a puller that do as they are told."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_spark.exact import committer as module
from mqframe_spark.exact.committer import END_PAUSES_SECONDS, Attempt, Committer, Run
from mqframe_spark.exact.losses import LostMessages
from mqframe_spark.exact.place import CommitPlace
from mqframe_spark.exact.rules import LEFT_KEEP_MS, HalfName, SinkRecord, Superseded, begin
from mqframe_transactions.rules.half_batch import EndStatus, EndsUnfinished, PreparedHalf

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, RouteError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome

COMMIT, ROLLBACK = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK
DONE, BEFORE, MISSING, UNSURE = (
    EndStatus.DONE,
    EndStatus.ENDED_BEFORE,
    EndStatus.NOT_FOUND,
    EndStatus.UNCERTAIN,
)
Status = EndStatus | None


def half(number: int, *, broker: str = "a", topic: str = "orders", repeatable: bool = True) -> PreparedHalf:
    """One of ten messages, or of one where its end cannot be repeated."""
    count = 10 if repeatable else 1
    return PreparedHalf(broker, topic, 0, number, 100 * number, f"id{number}", count, repeatable)


class Producer:
    """Ends half messages with the next of `answers`, statuses by number of the half; by default all is done.

    `ends`: the numbers of the halves of each call, and the outcome; `seen`: the record at that time.
    """

    def __init__(self, read: Callable[[], SinkRecord | None]) -> None:
        self._read = read
        self.answers: list[dict[int, Status]] = []
        self.ends: list[tuple[list[int], TransactionOutcome]] = []
        self.seen: list[SinkRecord | None] = []
        self.opened = 0

    def __enter__(self) -> "Producer":
        self.opened += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.opened -= 1

    def end(
        self, halves: Sequence[PreparedHalf], outcome: TransactionOutcome, *, timeout: float
    ) -> Sequence[Status]:
        assert self.opened == 1
        assert timeout > 0
        numbers = [each.queue_offset for each in halves]
        self.ends.append((numbers, outcome))
        self.seen.append(self._read())
        given = self.answers.pop(0) if self.answers else {}
        statuses = [given.get(number, DONE) for number in numbers]
        if None in statuses or UNSURE in statuses:
            raise EndsUnfinished("away", statuses)
        return statuses


class Puller:
    """Reads the topic of discarded halves, in one queue on broker a; without any nobody has the topic."""

    def __init__(self) -> None:
        self.discards: list[ReceivedMessage] = []
        self.away = False

    def __enter__(self) -> "Puller":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def route(self, topic: str, *, refresh: bool) -> Any:
        assert refresh
        if self.away:
            raise RouteError("away")
        if not self.discards:
            raise RouteError("no route") from AnswerError(ResponseCode.TOPIC_NOT_EXIST, "none", "n:1")
        return SimpleNamespace(read_queues=lambda: (MessageQueue(topic, "a", 0),))

    def min_offset(self, queue: MessageQueue) -> int:
        return 0

    def max_offset(self, queue: MessageQueue) -> int:
        return len(self.discards)

    def pull(self, queue: MessageQueue, offset: int) -> Any:
        return SimpleNamespace(messages=self.discards[offset:], next_offset=len(self.discards))


class Setup:
    """A committer, all that it touches, and its record."""

    def __init__(self, root: Path, message: Callable[..., ReceivedMessage]) -> None:
        self.place = CommitPlace(str(root), "stream")
        self.producer = Producer(self.place.record().read)
        self.puller = Puller()
        self.pauses: list[float] = []
        self.now_ms = 1000
        self._message = message
        self.committer = self.make()

    def make(self, *, fail_on_loss: bool = True) -> Committer:
        """Another one, as of a driver that comes back."""
        return Committer(
            self.place,
            lambda: self.producer,  # type: ignore[arg-type,return-value]
            lambda: self.puller,  # type: ignore[arg-type,return-value]
            lambda topic, unique_key: None,
            fail_on_loss=fail_on_loss,
            sleep=self.pauses.append,
            now_ms=lambda: self.now_ms,
        )

    @property
    def record(self) -> SinkRecord:
        found = self.place.record().read()
        assert found is not None
        return found

    def begin(self) -> Run:
        return self.committer.begin(self.place.record().read())

    def open(self) -> tuple[int, list[int], int]:
        """Of the one batch that is open: its number, the halves to end, how many others there are."""
        [opened] = self.record.open
        return opened.batch, [each.queue_offset for each in opened.halves], opened.single

    def crash(self, *halves: PreparedHalf, answer: Status = None, batch: int = 0) -> None:
        """Commit a batch of which no end is confirmed."""
        tries = len(END_PAUSES_SECONDS) + 1
        self.producer.answers = [dict.fromkeys((each.queue_offset for each in halves), answer)] * tries
        self.committer.commit(self.begin(), batch, [attempt(*halves)])
        self.producer.ends.clear()
        self.pauses.clear()

    def discard(self, batch: int, count: int, token: str = "x") -> None:
        """The broker has given up a half of `count` messages."""
        name = HalfName("stream", self.record.id, batch, 1, token, 0)
        given = {**name.properties(), p.HALF_BATCH: str(count), p.REAL_TOPIC: "orders"}
        text = p.encode_properties(given).encode()
        self.puller.discards.append(self._message(len(self.puller.discards), properties=text))


@pytest.fixture
def setup(tmp_path: Path, message: Callable[..., ReceivedMessage], monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setattr("mqframe_spark.exact.losses.retrying", lambda call: call())
    return Setup(tmp_path, message)


def attempt(*halves: PreparedHalf, token: str = "x", void: Iterable[int] = ()) -> Attempt:
    return Attempt(token, tuple(void), halves)


def test_each_run_has_a_number_that_the_record_holds(setup: Setup) -> None:
    first = setup.begin()
    assert first == Run(setup.record.id, 1, -1, "")
    assert setup.record.running
    second = setup.begin()
    assert (second.record, second.run, second.last) == (first.record, 2, -1)
    assert setup.record.run == 2


def test_a_batch_is_recorded_before_any_half_is_ended(setup: Setup) -> None:
    run = setup.begin()
    attempts = [
        attempt(half(1), half(2, topic="paid"), void=[3]),
        attempt(half(3, repeatable=False), token="y"),
        attempt(token="sent nothing"),
    ]
    assert setup.committer.commit(run, 0, attempts, "query-1") == ()
    assert setup.producer.ends == [([1, 2, 3], COMMIT)]
    [seen] = setup.producer.seen
    assert seen is not None
    [opened] = seen.open
    assert opened.tokens == {"x": (3,), "y": ()}
    assert (opened.halves, opened.single, opened.left) == ((half(1), half(2, topic="paid")), 1, False)
    assert (opened.batch, opened.at_ms) == (0, 1000)
    record = setup.record
    assert (record.last, record.open, record.running) == (0, (), False)
    assert (record.topics, record.spark_query) == (("orders", "paid"), "query-1")


def test_a_batch_without_messages_is_recorded_and_nobody_is_told(setup: Setup) -> None:
    assert setup.committer.commit(setup.begin(), 4, [attempt()]) == ()
    assert (setup.record.last, setup.record.open, setup.producer.ends) == (4, (), [])


def test_a_batch_that_was_recorded_is_not_touched(setup: Setup) -> None:
    run = setup.begin()
    setup.committer.commit(run, 0, [attempt(half(1))])
    version = setup.record.version
    assert setup.committer.commit(run, 0, [attempt(half(2), token="late")]) == ()
    assert (setup.record.version, len(setup.producer.ends)) == (version, 1)


def test_who_was_overtaken_ends_nothing(setup: Setup) -> None:
    late = setup.begin()
    setup.begin()
    with pytest.raises(Superseded, match="batch 0 cannot be committed by run 1: run 2 of another driver"):
        setup.committer.commit(late, 0, [attempt(half(1))])
    setup.place.record().erase()
    with pytest.raises(Superseded, match=f"the commit record in {setup.place.root} is gone"):
        setup.committer.commit(late, 0, [attempt(half(1))])
    assert setup.producer.ends == []


def test_ends_that_were_not_told_are_told_again_after_pauses(setup: Setup) -> None:
    setup.producer.answers = [{1: None, 3: UNSURE}, {3: None}, {}]
    assert setup.committer.commit(setup.begin(), 0, [attempt(half(1), half(2), half(3))]) == ()
    assert [numbers for numbers, _ in setup.producer.ends] == [[1, 2, 3], [1, 3], [3]]
    assert tuple(setup.pauses) == END_PAUSES_SECONDS[:2]
    assert setup.record.open == ()


def test_an_end_that_may_have_arrived_is_repeated_only_where_that_does_no_harm(setup: Setup) -> None:
    single = half(2, repeatable=False)
    setup.producer.answers = [{1: UNSURE, 2: UNSURE}]
    assert setup.committer.commit(setup.begin(), 0, [attempt(half(1), single)]) == (single,)
    assert [numbers for numbers, _ in setup.producer.ends] == [[1, 2], [1]]
    assert setup.open() == (0, [], 1)
    assert setup.record.open[0].left


def test_what_cannot_be_told_in_time_is_left_to_check_backs(setup: Setup) -> None:
    tries = len(END_PAUSES_SECONDS) + 1
    setup.producer.answers = [{1: None, 2: None}] * tries
    single = half(2, repeatable=False)
    assert setup.committer.commit(setup.begin(), 0, [attempt(half(1), single, half(3))]) == (half(1), single)
    assert len(setup.producer.ends) == tries
    assert tuple(setup.pauses) == END_PAUSES_SECONDS
    assert setup.open() == (0, [1], 1)
    assert setup.record.open[0].left


def test_many_ends_are_told_in_parts_and_only_by_the_newest_driver(setup: Setup, monkeypatch) -> None:
    monkeypatch.setattr(module, "ENDS_AT_ONCE", 2)
    halves = [half(number) for number in range(5)]
    setup.committer.commit(setup.begin(), 0, [attempt(*halves)])
    assert [numbers for numbers, _ in setup.producer.ends] == [[0, 1], [2, 3], [4]]
    setup.producer.ends.clear()
    end = setup.producer.end

    def overtaken(*given: Any, **named: Any) -> Sequence[Status]:
        setup.place.record().publish(begin(setup.record))
        return end(*given, **named)

    run = setup.begin()
    monkeypatch.setattr(setup.producer, "end", overtaken)
    with pytest.raises(Superseded, match="another driver goes on with batch 1"):
        setup.committer.commit(run, 1, [attempt(*halves)])
    assert [numbers for numbers, _ in setup.producer.ends] == [[0, 1]]


def test_halves_that_no_broker_holds_are_lost_until_somebody_accepts_that(setup: Setup, caplog) -> None:
    halves = (half(1), half(2, broker="b"), half(3))
    setup.producer.answers = [{1: MISSING, 3: MISSING}]
    words = "batch 0: 20 messages for topic orders on broker a: no longer held"
    with pytest.raises(LostMessages, match=f"stream: messages were recorded .*{words}.*failOnDataLoss"):
        setup.committer.commit(setup.begin(), 0, [attempt(*halves)])
    assert setup.open() == (0, [1, 2, 3], 0), "the next driver would not hear of it"
    setup.producer.answers = [{1: MISSING, 2: BEFORE, 3: MISSING}]
    record = setup.make(fail_on_loss=False).recover()
    assert words in caplog.text
    assert record == setup.record
    assert record.open == ()


def test_ends_that_came_before_are_no_loss_unless_their_broker_discarded_them(setup: Setup) -> None:
    setup.producer.answers = [{1: BEFORE}]
    assert setup.committer.commit(setup.begin(), 0, [attempt(half(1), half(2))]) == ()
    assert setup.record.open == ()
    assert tuple(setup.pauses) == module.LOOK_PAUSES_SECONDS, "the topic may have come into being just now"
    setup.discard(0, 10)
    setup.discard(1, 10, token="of a failed attempt")
    setup.discard(1, 10)
    setup.producer.answers = [{2: BEFORE}]  # of a broker that discarded nothing
    assert setup.committer.commit(setup.begin(), 1, [attempt(half(1), half(2, broker="b"))]) == ()
    setup.discard(2, 7)
    run = setup.begin()
    setup.producer.answers = [{1: BEFORE}]
    with pytest.raises(LostMessages, match="batch 2: 7 messages for topic orders on broker a: discarded"):
        setup.committer.commit(run, 2, [attempt(half(1), half(2))])


def test_while_it_is_not_known_whether_they_were_discarded_they_are_asked_for_again(setup: Setup) -> None:
    setup.puller.away = True
    setup.producer.answers = [{1: BEFORE, 2: BEFORE}]
    halves = [half(1), half(2, repeatable=False), half(3)]
    assert setup.committer.commit(setup.begin(), 0, [attempt(*halves)]) == ()
    assert setup.open() == (0, [1], 0)
    setup.producer.answers = [{1: BEFORE}]
    assert setup.make().recover() == setup.record
    assert setup.open() == (0, [1], 0)
    setup.puller.away = False
    setup.discard(0, 10)
    setup.producer.answers = [{1: BEFORE}]
    with pytest.raises(LostMessages, match="batch 0: 10 messages for topic orders on broker a: discarded"):
        setup.make().recover()


def test_a_driver_that_comes_back_finds_nothing_to_do(setup: Setup) -> None:
    assert setup.committer.recover() is None
    setup.committer.commit(setup.begin(), 0, [attempt(half(1))])
    setup.producer.ends.clear()
    before = setup.record
    assert setup.make().recover() == before == setup.record
    assert setup.producer.ends == []


def test_a_driver_that_comes_back_ends_once_what_was_left(setup: Setup) -> None:
    setup.crash(half(1), half(2))
    setup.producer.answers = [{2: None}]
    record = setup.make().recover()
    assert setup.producer.ends == [([1, 2], COMMIT)]
    assert setup.pauses == [], "check-backs end it as well"
    assert record == setup.record
    assert setup.open() == (0, [2], 0)
    record = setup.make().recover()
    assert record is not None
    assert record.open == ()


def test_brokers_may_be_answered_before_a_driver_that_comes_back_ends_anything(setup: Setup) -> None:
    run = setup.begin()
    setup.producer.answers = [{1: MISSING}]
    with pytest.raises(LostMessages):
        setup.committer.commit(run, 0, [attempt(half(1))])
    assert not setup.record.open[0].left
    setup.producer.seen.clear()
    setup.make().recover()
    [seen] = setup.producer.seen
    assert seen is not None
    assert [each.left for each in seen.open] == [True]


def test_ends_that_only_check_backs_repeat_are_waited_for_as_long_as_brokers_ask(setup: Setup) -> None:
    setup.crash(half(1, repeatable=False), answer=UNSURE)
    setup.now_ms += LEFT_KEEP_MS
    setup.make().recover()
    assert setup.open() == (0, [], 1)
    setup.now_ms += 1
    record = setup.make().recover()
    assert record is not None
    assert record.open == ()
    assert setup.producer.ends == [], "they would be delivered twice"


def test_a_run_that_failed_is_over_before_its_halves_are_dropped(setup: Setup) -> None:
    run = setup.begin()
    setup.producer.answers = [{2: None}]
    setup.committer.abort(run, [attempt(half(1)), attempt(half(2), token="y")])
    assert setup.producer.ends == [([1, 2], ROLLBACK)]
    [seen] = setup.producer.seen
    assert seen is not None
    assert (seen.run, seen.running) == (2, False)
    assert setup.pauses == []
    with pytest.raises(Superseded):
        setup.committer.commit(run, 0, [attempt(half(1))])


def test_what_counts_or_belongs_to_another_run_cannot_be_aborted(setup: Setup) -> None:
    run = setup.begin()
    setup.committer.abort(run, [attempt()])
    assert setup.producer.ends == [], "a producer was opened for nothing"
    late, run = run, setup.begin()
    setup.committer.abort(late, [attempt(half(1))])
    setup.committer.commit(run, 0, [attempt(half(2))])
    setup.committer.abort(run, [attempt(half(2))])
    assert setup.producer.ends == [([2], COMMIT)]
    assert (setup.record.last, setup.record.run) == (0, run.run)
