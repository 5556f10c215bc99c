"""What brokers of one name ask of each other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_replication.broker.asking import CALL_SECONDS, ask

from mqframe.core.errors import AnswerError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.frame import Frame


class Client:
    """Answers with `code`, and notes what was asked."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.asked: list[tuple[str, Any, float]] = []

    async def invoke(self, address: str, request: Any, *, timeout: float) -> Frame:
        self.asked.append((address, request, timeout))
        return Frame(self.code, remark="why", body=b"body")


def asked(client: Client, *expected: int) -> Frame:
    request = GetBrokerRuntimeInfo()
    answer = asyncio.run(ask(client, "127.0.0.1:10911", request, *expected))  # type: ignore[arg-type]
    assert client.asked == [("127.0.0.1:10911", request, CALL_SECONDS)]
    return answer


@pytest.mark.parametrize(("code", "expected"), [(0, ()), (0, (1,)), (1, (1,)), (22, (1, 22))])
def test_a_success_and_what_is_expected_is_returned(code: int, expected: tuple[int, ...]) -> None:
    answer = asked(Client(code), *expected)
    assert (answer.code, bytes(answer.body)) == (code, b"body")


@pytest.mark.parametrize(("code", "expected"), [(1, ()), (1, (22,)), (3, (1, 22))])
def test_any_other_code_is_an_error_that_names_the_broker(code: int, expected: tuple[int, ...]) -> None:
    with pytest.raises(AnswerError, match=r"127\.0\.0\.1:10911.*why|why.*127\.0\.0\.1:10911") as raised:
        asked(Client(code), *expected)
    assert raised.value.code == code
