from __future__ import annotations

import pytest

from mqframe.core.consume_result import ACKNOWLEDGE_ALL, ConsumeResult, Outcome, acknowledged, outcome
from mqframe.core.consume_rules import MessageModel, Remedy, remedy

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


@pytest.mark.parametrize(
    ("result", "error", "elapsed", "expected"),
    [
        (OK, None, 1.0, Outcome.SUCCESS),
        (LATER, None, 1.0, Outcome.FAILED),
        (OK, None, 900.0, Outcome.TIMEOUT),
        (LATER, None, 901.0, Outcome.TIMEOUT),
        (None, None, 1.0, Outcome.NULL),
        (True, None, 1.0, Outcome.NULL),
        (None, ValueError("no"), 901.0, Outcome.EXCEPTION),
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


def test_what_becomes_of_failed_messages() -> None:
    assert remedy(MessageModel.CLUSTERING) is Remedy.HAND_BACK
    assert remedy(MessageModel.BROADCASTING) is Remedy.DROP
