"""What processes of the sink answer to brokers, without a broker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.answers import Answers
from mqframe_spark.exact.place import CommitPlace
from mqframe_spark.exact.rules import HalfName, OpenBatch, SinkRecord
from mqframe_transactions.rules.half_batch import PreparedHalf

from mqframe.core.errors import RouteError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
HALF = PreparedHalf("a", "orders", 0, 1, 100, "id", 3, repeatable=True)
NAME = HalfName("stream", "r", 0, 1, "x", 0)


class Setup:
    """A record, and what is asked of those who answer for it."""

    def __init__(self, root: Path, message: Callable[..., ReceivedMessage]) -> None:
        self.root = root
        self.now = 0.0
        self.messages: dict[tuple[str, str], Any] = {}
        self.looked_up: list[tuple[str, str]] = []
        self._message = message
        self.answers = Answers(str(root), self.lookup, monotonic=lambda: self.now)

    def publish(self, record: SinkRecord) -> SinkRecord:
        CommitPlace(str(self.root), "stream").record().publish(record)
        return record

    def lookup(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        self.looked_up.append((topic, unique_key))
        found = self.messages.get((topic, unique_key))
        if isinstance(found, Exception):
            raise found
        return found

    def ask(self, name: HalfName = NAME, **more: str) -> TransactionOutcome:
        given = {p.UNIQUE_KEY: "unique", **name.properties(), **more}
        text = p.encode_properties(given).encode()
        return self.answers.check(self._message(0, topic="orders", properties=text))


@pytest.fixture
def setup(tmp_path: Path, message: Callable[..., ReceivedMessage]) -> Setup:
    return Setup(tmp_path, message)


def left(record: SinkRecord) -> SinkRecord:
    found = rules.leave(record)
    assert found is not None
    return found


def test_a_batch_half_needs_only_the_record(setup: Setup) -> None:
    begun = setup.publish(rules.first("r"))
    assert setup.ask(HALF_BATCH="3") is UNKNOWN
    recorded = setup.publish(rules.commit(begun, 1, OpenBatch(0, {"x": ()}, (HALF,))))
    setup.publish(left(recorded))
    assert setup.ask(HALF_BATCH="3") is UNKNOWN  # the record was read in this very second
    setup.now += 1
    assert setup.ask(HALF_BATCH="3") is COMMIT
    assert setup.ask(NAME._replace(token="y"), HALF_BATCH="3") is ROLLBACK
    assert setup.looked_up == []


def test_a_single_half_that_is_delivered_is_not_delivered_again(setup: Setup) -> None:
    setup.publish(left(rules.commit(rules.first("r"), 1, OpenBatch(0, {"x": ()}, single=1))))
    assert setup.ask() is COMMIT
    setup.messages["orders", "unique"] = "here it is"
    assert setup.ask() is ROLLBACK
    setup.messages["orders", "unique"] = RouteError("away")
    assert setup.ask() is UNKNOWN
    assert setup.looked_up == [("orders", "unique")] * 3


def test_a_decision_that_is_known_needs_no_file(setup: Setup) -> None:
    record = setup.publish(left(rules.commit(rules.first("r"), 1, OpenBatch(0, {"x": ()}, (HALF,)))))
    assert setup.ask(HALF_BATCH="3") is COMMIT
    CommitPlace(str(setup.root), "stream").record().erase()
    setup.now += 10
    assert setup.ask(HALF_BATCH="3") is COMMIT
    assert setup.ask(NAME._replace(batch=1), HALF_BATCH="3") is UNKNOWN
    assert record.last == 0


@pytest.mark.parametrize(
    "name", [NAME._replace(query="../stream"), NAME._replace(query="other"), NAME._replace(record="s")]
)
def test_halves_of_others(setup: Setup, name: HalfName) -> None:
    setup.publish(left(rules.commit(rules.first("r"), 1, OpenBatch(0, {"x": ()}, (HALF,)))))
    assert setup.ask(name) is UNKNOWN


def test_a_half_without_a_name(setup: Setup) -> None:
    assert setup.ask(**{rules.BATCH: "first"}) is UNKNOWN


def test_a_record_that_cannot_be_read(setup: Setup) -> None:
    folder = setup.root / "stream"
    folder.mkdir()
    (folder / "00000000000000000001.json").write_bytes(msgspec.json.encode({"id": 5}))
    assert setup.ask() is UNKNOWN
