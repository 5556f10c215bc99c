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


@pytest.mark.parametrize(
    "remark",
    [
        "username cannot be null.",
        "check signature failed.",
        "User:nobody is not found.",
        "User:a has no permission to access Topic:t from 127.0.0.1, no matched policies.",
        "Authentication failed. Please verify the credentials and try again.",
        "Authorization failed. Please verify your access rights and try again.",
        "Check signature failed for accessKey=a",
        "No acl config for a",
    ],
)
def test_who_is_not_let_in_is_told_what_to_check(remark: str) -> None:
    error = errors.answer_error(ResponseCode.NO_PERMISSION, remark, "1.2.3.4:5")
    assert type(error) is errors.AccessError
    assert (error.code, error.remark, error.address) == (ResponseCode.NO_PERMISSION, remark, "1.2.3.4:5")
    assert str(error) == (
        f"1.2.3.4:5 answered 16 NO_PERMISSION: {remark.rstrip('.')}; check the keys that requests "
        "are signed with, and what their user may do"
    )


@pytest.mark.parametrize(
    "remark", [None, "the broker[a] sending message is forbidden", "topic t is not writable"]
)
def test_other_refusals_have_nothing_to_do_with_keys(remark: str | None) -> None:
    error = errors.answer_error(ResponseCode.NO_PERMISSION, remark, "1.2.3.4:5")
    assert type(error) is errors.AnswerFix
    assert type(errors.answer_error(ResponseCode.SYSTEM_ERROR, "signature", "a:1")) is errors.AnswerRetry


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION])
def test_a_remark_of_megabytes_is_kept_but_not_shown(code: ResponseCode) -> None:
    remark = "the signature is wrong " + "x" * 1_000_000
    error = errors.answer_error(code, remark, "a:1")
    assert error.remark == remark
    assert "a:1 answered" in str(error)
    assert "the signature is wrong xxx" in str(error)
    assert "(1000023 characters)" in str(error)
    assert len(str(error)) < 2500
