"""Which response code each kind of error gets."""

from __future__ import annotations

import pytest

from mqframe.core.errors import (
    BodyError,
    ConnectionLost,
    HeaderError,
    MessageError,
    Refusal,
    StoreError,
    StoreUnavailable,
)
from mqframe.core.requests.failures import is_expected, may_pass, refused


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (HeaderError("PullMessage: no topic"), 1),
        (BodyError("no JSON"), 1),
        (MessageError("body too large"), 13),
        (StoreUnavailable("the disk is full"), 14),
    ],
)
def test_errors_of_requests_and_full_disks_keep_their_text(problem, code):
    refusal = refused(problem)
    assert (refusal.code, refusal.remark, is_expected(problem)) == (code, str(problem), True)


@pytest.mark.parametrize(
    ("problem", "passes"),
    [
        (StoreUnavailable("the disk is full"), True),
        (OSError(28, "no space"), True),
        (MemoryError(), True),
        (ConnectionLost("gone"), True),
        (Refusal(14, "full"), True),
        (Refusal(2, "busy"), True),
        (Refusal(13, "too large"), False),
        (Refusal(1, "anything"), False),
        (MessageError("too large"), False),
        (KeyError("x"), False),
    ],
)
def test_errors_of_the_whole_broker_may_pass(problem, passes):
    assert may_pass(problem) is passes


def test_a_refusal_is_itself():
    refusal = Refusal(17, "no such topic")
    assert refused(refusal) is refusal
    assert is_expected(refusal)


@pytest.mark.parametrize("problem", [KeyError("x"), ConnectionLost("gone"), StoreError("damaged")])
def test_other_errors_name_their_class_and_are_unexpected(problem):
    refusal = refused(problem)
    assert (refusal.code, refusal.remark) == (1, f"{type(problem).__name__}: {problem}")
    assert not is_expected(problem)
