"""Half messages of one task attempt, from a producer that fails as it is told."""

from typing import Any

import pytest
from mqframe_spark.exact.preparing import Preparation
from mqframe_spark.exact.rules import HalfName, name_of
from mqframe_spark.sink.outgoing import Outgoing
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe.core.errors import AnswerFix, CallTimeout, FixError, RetryError

NAME = HalfName("stream", "r", 0, 1, "x", 0)


class Rows:
    """Requests that are there already."""

    def __init__(self, *counts: int) -> None:
        self._waiting = [
            Outgoing("orders", None, b"e" * count, count, (10 * at, 10 * at + count - 1))
            for at, count in enumerate(counts)
        ]

    def of(self, batches: Any) -> list[Outgoing]:
        return self._waiting


class Producer:
    """Raises `faults` first, one for each call."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.requests: list[int] = []

    def prepare(
        self, topic: str, elements: bytes, count: int, *, properties: Any, queue: Any
    ) -> tuple[PreparedHalf, ...]:
        name = name_of(properties)
        assert name is not None
        assert name._replace(request=0) == NAME
        assert len(elements) == count
        self.requests.append(name.request)
        if self.faults:
            raise self.faults.pop(0)
        return (PreparedHalf("a", topic, 0, 0, 0, str(name.request), count, repeatable=True),)


def prepared(producer: Producer, *counts: int) -> tuple[Preparation, list[float]]:
    pauses: list[float] = []
    made = Preparation(producer, NAME, where="partition 3", sleep=pauses.append)
    made.rows(Rows(*counts), [], 1)  # type: ignore[arg-type]
    return made, pauses


def test_each_request_has_a_number_of_its_own() -> None:
    producer = Producer()
    made, pauses = prepared(producer, 5, 6, 7)
    assert producer.requests == [0, 1, 2]
    assert [half.count for half in made.halves] == [5, 6, 7]
    assert (made.void, pauses) == ([], [])


def test_what_may_have_arrived_does_not_count() -> None:
    producer = Producer(CallTimeout("no answer"), CallTimeout("no answer"))
    made, pauses = prepared(producer, 5, 6)
    assert producer.requests == [0, 1, 2, 3]
    assert [half.transaction_id for half in made.halves] == ["2", "3"]
    assert made.void == [0, 1]
    assert pauses == [0.05, 0.2]


def test_brokers_that_stay_away_fail_the_task() -> None:
    producer = Producer(*[CallTimeout("no answer")] * 5)
    with pytest.raises(RetryError, match="partition 3, one of rows 0 to 4: topic orders did not take them"):
        prepared(producer, 5)
    assert producer.requests == [0, 1, 2, 3, 4]


def test_a_refusal_fails_the_task_at_once() -> None:
    producer = Producer(AnswerFix(16, "no permission", "127.0.0.1:1"))
    with pytest.raises(FixError, match=r"partition 3, row 0: .* no permission"):
        prepared(producer, 1)
    assert producer.requests == [0]
