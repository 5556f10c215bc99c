from __future__ import annotations

import inspect

import pytest

from mqframe.core import errors
from mqframe.core.codes import ResponseCode


@pytest.mark.parametrize(
    "kind", [k for _, k in inspect.getmembers(errors, inspect.isclass) if k.__module__ == errors.__name__]
)
def test_every_error_has_the_one_root_and_says_what_can_be_done(kind: type) -> None:
    assert issubclass(kind, errors.MqframeError)
    ways = (errors.RetryError, errors.FixError, errors.GiveUpError)
    assert (
        kind in (errors.MqframeError, errors.Refusal, errors.AnswerError)
        or sum(issubclass(kind, way) for way in ways) == 1
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ResponseCode.SYSTEM_BUSY, errors.RetryError),
        (ResponseCode.SERVICE_NOT_AVAILABLE, errors.RetryError),
        (ResponseCode.TOPIC_NOT_EXIST, errors.FixError),
        (ResponseCode.NO_PERMISSION, errors.FixError),
        (4711, errors.FixError),
    ],
)
def test_answers_become_errors_of_their_class(code: int, kind: type) -> None:
    error = errors.answer_error(code, None, "1.2.3.4:5")
    assert isinstance(error, kind)
    assert (error.code, error.remark, error.address) == (code, None, "1.2.3.4:5")
    assert str(int(code)) in str(error)
    assert "1.2.3.4:5" in str(error)


def test_a_refusal_carries_code_and_remark() -> None:
    refusal = errors.Refusal(16, "not yours")
    assert (refusal.code, refusal.remark, str(refusal)) == (16, "not yours", "16: not yours")
