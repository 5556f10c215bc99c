"""What is decided about one half message: the tables in the module, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_transactions.rules.half_rules import (
    Age,
    CheckLimits,
    Step,
    check_end,
    copy_properties,
    final_properties,
    hold,
    next_step,
    op_body,
    parse_op,
    real_place,
    root_of,
    times_checked,
)

from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.core.requests.messages import EndTransaction
from mqframe.core.sending.transaction_outcome import TransactionOutcome

HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))
BORN = 1_000_000
LIMITS = CheckLimits(timeout_ms=6000, times_max=15, keep_ms=100_000_000)
IMMUNITY = p.CHECK_IMMUNITY_SECONDS


def half(properties: dict[str, str] | None = None, **fields: object) -> ReceivedMessage:
    own = {"PGROUP": "g", "REAL_TOPIC": "t", "REAL_QID": "3", "UNIQ_KEY": "U", **(properties or {})}
    topic = fields.pop("topic", HALF_TOPIC)
    text = p.encode_properties(own).encode()
    return ReceivedMessage(str(topic), 0, 7, 500, 100, BORN, BORN, HOST, HOST, 0, 0, 0, 0, 0, b"x", text)


def end(outcome: int = 8, **fields: object) -> EndTransaction:
    values = {"producer_group": "g", "tran_state_table_offset": 7, "commit_log_offset": 500, "msg_id": "U"}
    return EndTransaction(**{"commit_or_rollback": outcome, **values, **fields})  # type: ignore[arg-type]


class TestSends:
    def test_the_real_place_is_noted(self) -> None:
        properties = {"UNIQ_KEY": "U"}
        hold(properties, "orders", 2)
        assert properties == {
            "UNIQ_KEY": "U", "__transactionId__": "U", "REAL_TOPIC": "orders", "REAL_QID": "2",
        }  # fmt: skip
        assert real_place(properties) == ("orders", 2)

    def test_a_sender_does_not_say_whose_copy_its_half_is(self) -> None:
        properties = {"UNIQ_KEY": "U", p.PREPARED_QUEUE_OFFSET: "3", p.CHECK_TIMES: "15"}
        hold(properties, "orders", 2)
        assert properties.keys() == {"UNIQ_KEY", "__transactionId__", "REAL_TOPIC", "REAL_QID"}

    @pytest.mark.parametrize(("said", "root"), [("3", 3), ("7", 7), ("8", 7), ("9" * 19, 7), ("x", 7)])
    def test_a_copy_lies_behind_its_first(self, said: str, root: int) -> None:
        assert root_of(half({p.PREPARED_QUEUE_OFFSET: said})) == root

    @pytest.mark.parametrize(
        "properties",
        [
            {},
            {"REAL_TOPIC": "t"},
            {"REAL_TOPIC": "t", "REAL_QID": "-1"},
            {"REAL_QID": "1"},
            {"REAL_TOPIC": "../../up", "REAL_QID": "0"},
            {"REAL_TOPIC": "t", "REAL_QID": str(10**12)},
            {"REAL_TOPIC": "rmq_sys_wheel_timer", "REAL_QID": "0"},
        ],
    )
    def test_a_half_that_does_not_say_where(self, properties: dict[str, str]) -> None:
        assert real_place(properties) is None


class TestSteps:
    @pytest.mark.parametrize(
        ("properties", "age_ms", "wanted"),
        [
            ({}, 0, Step.YOUNG),
            ({}, 6000, Step.YOUNG),
            ({}, 6001, Step.CHECK),
            ({}, -1, Step.YOUNG),
            ({p.CHECK_TIMES: "14"}, 6001, Step.CHECK),
            ({p.CHECK_TIMES: "15"}, 6001, Step.DISCARD),
            ({p.CHECK_TIMES: "15"}, 0, Step.DISCARD),
            ({p.CHECK_TIMES: "many"}, 6001, Step.CHECK),
            ({}, 100_000_000, Step.CHECK),
            ({}, 100_000_001, Step.DISCARD),
            ({IMMUNITY: "60"}, 60_000, Step.IMMUNE),
            ({IMMUNITY: "60"}, 60_001, Step.CHECK),
            ({IMMUNITY: "60"}, -5, Step.IMMUNE),
            ({IMMUNITY: "2"}, 2001, Step.CHECK),
            ({IMMUNITY: "soon"}, 6000, Step.IMMUNE),
            ({IMMUNITY: "soon"}, 6001, Step.CHECK),
            ({IMMUNITY: "60", p.CHECK_TIMES: "15"}, 0, Step.DISCARD),
        ],
    )
    def test_next_step(self, properties: dict[str, str], age_ms: int, wanted: Step) -> None:
        assert next_step(half(properties), Age(age_ms, age_ms), LIMITS) is wanted

    def test_copies_name_the_first_one_and_count(self) -> None:
        first = half()
        copy = copy_properties(first, 1)
        assert (copy[p.PREPARED_QUEUE_OFFSET], copy[p.CHECK_TIMES]) == ("7", "1")
        later = half({p.PREPARED_QUEUE_OFFSET: "2", p.CHECK_TIMES: "4"})
        assert (root_of(first), root_of(later)) == (7, 2)
        assert copy_properties(later, None) == later.properties
        assert times_checked(copy_properties(later, 5)) == 5
        assert final_properties(later) == {
            name: value for name, value in later.properties.items() if name != p.PREPARED_QUEUE_OFFSET
        }

    @pytest.mark.parametrize("named", ["7", "8", "1700000100000", str(2**62), "-1", "x"])
    def test_a_half_that_names_no_earlier_one_is_the_first_of_its_transaction(self, named: str) -> None:
        # The table of halves has a bit for each offset up to the highest that is named.
        assert root_of(half({p.PREPARED_QUEUE_OFFSET: named})) == 7


class TestEnds:
    @pytest.mark.parametrize("outcome", list(TransactionOutcome))
    def test_what_fits_ends(self, outcome: TransactionOutcome) -> None:
        assert check_end(end(outcome), half(), Age(0, 0), 6000) is outcome

    def test_unknown_needs_no_half(self) -> None:
        assert check_end(end(0), None, Age(0, 0), 6000) is TransactionOutcome.UNKNOWN

    @pytest.mark.parametrize(
        ("request_", "found", "words"),
        [
            (end(4), half(), "commitOrRollback is 4"),
            (end(), None, "no half message begins at commit-log offset 500"),
            (end(), half(topic="orders"), "no half message begins"),
            (end(commit_log_offset=501), half(), "no half message begins at commit-log offset 501"),
            (end(producer_group="other"), half(), "of producer group g"),
            (end(tran_state_table_offset=8), half(), "queue offset 7, not 8"),
            (end(), half({"REAL_QID": ""}), "does not say where"),
        ],
    )
    def test_what_does_not_is_refused(
        self, request_: EndTransaction, found: ReceivedMessage | None, words: str
    ) -> None:
        with pytest.raises(Refusal, match=words) as caught:
            check_end(request_, found, Age(0, 0), 6000)
        assert caught.value.code == 1

    @pytest.mark.parametrize(
        ("immunity", "age_ms", "late"),
        [
            ("60", 60_000, False),
            ("60", 60_001, True),
            ("2", 6000, False),
            ("2", 6001, True),
            ("x", 6001, True),
        ],
    )
    def test_ends_past_their_immunity_wait_for_a_check(self, immunity: str, age_ms: int, late: bool) -> None:
        found, now = half({IMMUNITY: immunity}), Age(age_ms, age_ms)
        of_a_batch = half({IMMUNITY: immunity, p.HALF_BATCH: "3"})
        assert check_end(end(), of_a_batch, now, 6000) is TransactionOutcome.COMMIT
        assert check_end(end(from_transaction_check=True), found, now, 6000) is TransactionOutcome.COMMIT
        if not late:
            assert check_end(end(), found, now, 6000) is TransactionOutcome.COMMIT
            return
        with pytest.raises(Refusal) as caught:
            check_end(end(), found, now, 6000)
        assert caught.value.code == 604


@given(st.lists(st.integers(0, 1 << 50), max_size=5))
def test_op_messages_are_read_in_both_forms(offsets: list[int]) -> None:
    assert parse_op(b"".join(b"%d," % offset for offset in offsets)) == offsets
    for offset in offsets:
        assert parse_op(op_body(offset)) == [offset]
        assert op_body(offset).isdigit(), "brokers before 5.0 read nothing else"


def test_a_number_that_is_no_offset_is_left_out() -> None:
    assert parse_op(b"9" * 5000 + b",3,x,-1") == [3]


@given(st.binary(max_size=30))
def test_any_op_body_can_be_read(body: bytes) -> None:
    assert all(offset >= 0 for offset in parse_op(body))
