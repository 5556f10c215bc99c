"""What several servers say to the same question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from mqframe.core.errors import MqframeError, RouteError
from mqframe.log import get_logger

T = TypeVar("T")
log = get_logger("client")


async def each_answer(asked: Mapping[str, Awaitable[T]], complaint: str, nobody: str, group: str) -> list[T]:
    """The answers that came, failures beside them are logged. Raises `RetryError` when there is none."""
    answers = await asyncio.gather(*asked.values(), return_exceptions=True)
    good: list[T] = []
    bad: dict[str, str] = {}
    for who, answer in zip(asked, answers, strict=True):
        if not isinstance(answer, BaseException):
            good.append(answer)
            continue
        if not isinstance(answer, MqframeError):
            raise answer
        bad[who] = str(answer)
    if not good:
        raise RouteError(f"{nobody} answered: {'; '.join(bad.values()) or 'none is known'}")
    for who, reason in bad.items():
        log.warning(complaint, group=group, asked=who, reason=reason)
    return good
