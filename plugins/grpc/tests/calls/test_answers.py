from __future__ import annotations

from typing import Any

import pytest
from mqframe_grpc.calls.answers import answering, fields_of, need, status_of
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.consumers import OffsetAnswer
from mqframe.core.requests.serving import Reply


class FakeCall:
    address = "10.0.0.7:4000"
    metadata = {":path": "/x/Y"}


CALL: Any = FakeCall()


@pytest.mark.parametrize(
    ("problem", "code", "text"),
    [
        (Rejected(m.Code.ILLEGAL_TOPIC, "no such"), m.Code.ILLEGAL_TOPIC, "no such"),
        (ConnectionLost("stops"), m.Code.INTERNAL_SERVER_ERROR, "stops"),
        (KeyError("ours"), m.Code.INTERNAL_SERVER_ERROR, "KeyError: 'ours'"),
    ],
)
async def test_errors_become_statuses(problem: Exception, code: m.Code, text: str) -> None:
    async def serve(call: Any, request: Any) -> Any:
        raise problem

    answer: Any = await answering(m.AckMessageResponse, serve)(CALL, None)
    assert answer.status == status_of(problem, CALL)
    assert (answer.status.code, text in answer.status.message) == (code, True)


def test_a_refusal_of_a_broker_is_one() -> None:
    with pytest.raises(Rejected) as raised:
        need(Reply(ResponseCode.TOPIC_NOT_EXIST, remark="none"))
    assert (raised.value.code, raised.value.text) == (m.Code.TOPIC_NOT_FOUND, "none")
    fine = Reply()
    assert need(fine) is fine


@pytest.mark.parametrize("reply", [Reply(header=OffsetAnswer(7)), Reply(ext={"offset": "7"})])
def test_fields_come_as_an_object_or_as_text(reply: Reply) -> None:
    assert fields_of(reply, OffsetAnswer) == OffsetAnswer(7)
