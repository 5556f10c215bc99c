"""Answers to messages that were consumed at an operator's will."""

from __future__ import annotations

import pytest

from mqframe.core.consume_result import ConsumeResult
from mqframe.core.consumer_info import DirectOutcome, DirectResult
from mqframe.core.direct_rules import direct_result
from mqframe.core.loosejson import decode, dumps


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
