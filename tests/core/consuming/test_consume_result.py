from __future__ import annotations

import pytest

from mqframe.core.consuming.consume_result import (
    ACKNOWLEDGE_ALL,
    ConsumeOutcome,
    ConsumeResult,
    acknowledged,
    direct_result,
    outcome,
)
from mqframe.core.consuming.running_info import DirectOutcome, DirectResult
from mqframe.core.wire.loose_json import decode, dumps

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


@pytest.mark.parametrize(
    ("result", "error", "elapsed", "expected"),
    [
        (OK, None, 1.0, ConsumeOutcome.SUCCESS),
        (LATER, None, 1.0, ConsumeOutcome.FAILED),
        (OK, None, 900.0, ConsumeOutcome.TIMEOUT),
        (LATER, None, 901.0, ConsumeOutcome.TIMEOUT),
        (None, None, 1.0, ConsumeOutcome.NULL),
        (True, None, 1.0, ConsumeOutcome.NULL),
        (None, ValueError("no"), 901.0, ConsumeOutcome.EXCEPTION),
    ],
)
def test_outcomes(result, error, elapsed, expected) -> None:
    assert outcome(result, error, elapsed, 900.0) is expected


@pytest.mark.parametrize(
    ("result", "ack_index", "expected"),
    [
        (OK, ACKNOWLEDGE_ALL, 4),
        (OK, 4, 4),
        (OK, 1, 2),
        (OK, -1, 0),
        (OK, -5, 0),
        (LATER, ACKNOWLEDGE_ALL, 0),
        (LATER, 2, 0),
        (None, ACKNOWLEDGE_ALL, 0),
    ],
)
def test_a_prefix_is_acknowledged_with_success_only(result, ack_index, expected) -> None:
    assert acknowledged(result, ack_index, 4) == expected


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (ConsumeResult.SUCCESS, DirectOutcome.SUCCESS),
        (ConsumeResult.RECONSUME_LATER, DirectOutcome.LATER),
        (ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT, DirectOutcome.LATER),
        (None, DirectOutcome.RETURN_NULL),
        ("success", DirectOutcome.RETURN_NULL),
    ],
)
def test_every_result_has_its_word(result: object, outcome: DirectOutcome) -> None:
    found = direct_result(result, None, 0.25, ordered=True)
    assert (found.consume_result, found.order, found.spent_time_mills, found.remark) == (
        outcome,
        True,
        250,
        None,
    )


def test_an_exception_comes_before_any_result() -> None:
    found = direct_result(ConsumeResult.SUCCESS, ValueError("no stock"), 0.0, ordered=False)
    assert (found.consume_result, found.remark) == (DirectOutcome.THROW_EXCEPTION, "ValueError: no stock")


@pytest.mark.parametrize("outcome", list(DirectOutcome))
def test_all_words_of_the_wire_are_read(outcome: DirectOutcome) -> None:
    body = b'{"autoCommit":true,"consumeResult":"%b","order":false,"spentTimeMills":1}'
    found = decode(body % outcome.value.encode(), DirectResult)
    assert found.consume_result is outcome
    assert decode(dumps(found), DirectResult) == found
