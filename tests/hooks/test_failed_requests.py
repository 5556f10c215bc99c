"""What a request is answered that an error stopped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mqframe.core.errors import BodyError, FixError, HeaderError, MessageError, Refusal
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame
from mqframe.hooks.failed_requests import failure_reply

CALL = Call(Frame(77, 1), cast("Any", SimpleNamespace(address="10.0.0.1:5")), 0.0)


@pytest.mark.parametrize(
    ("problem", "code", "remark"),
    [
        (Refusal(16, "not yours"), 16, "not yours"),
        (HeaderError("queueId is missing"), 1, "queueId is missing"),
        (BodyError("no JSON"), 1, "no JSON"),
        (FixError("install it"), 1, "install it"),
        (MessageError("empty body"), 13, "empty body"),
    ],
)
def test_errors_of_the_request_are_answered_and_not_logged(problem, code, remark, caplog) -> None:
    reply = failure_reply(problem, CALL)
    assert (reply.code, reply.remark, reply.fields(), reply.body) == (code, remark, None, b"")
    assert caplog.text == ""


def test_any_other_is_logged_with_its_request(caplog) -> None:
    reply = failure_reply(RuntimeError("a bug"), CALL)
    assert (reply.code, reply.remark) == (1, "RuntimeError: a bug")
    assert "request failed" in caplog.text
    assert "10.0.0.1:5" in caplog.text
