"""What brokers of one name ask of each other."""

from __future__ import annotations

from typing import Final

from mqframe.core.errors import answer_error
from mqframe.core.requests import Request
from mqframe.core.wire.frame import Frame
from mqframe.net.client import Client

CALL_SECONDS: Final = 3.0


async def ask(client: Client, address: str, request: Request, *expected: int) -> Frame:
    """The answer of the broker at `address`, "host:port": a success, or one with a code that is `expected`.

    Raises what a call raises, `AnswerError`.
    """
    answer = await client.invoke(address, request, timeout=CALL_SECONDS)
    if answer.code and answer.code not in expected:
        raise answer_error(answer.code, answer.remark, address)
    return answer
