"""Answers of several servers to one question."""

from __future__ import annotations

import logging

import pytest

from mqframe.client.connection.each_answer import each_answer
from mqframe.core.errors import ConnectError, RetryError


async def says(answer: int | Exception) -> int:
    if isinstance(answer, Exception):
        raise answer
    return answer


async def test_answers_come_in_order_and_who_failed_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mqframe"):
        asked = {"a": says(1), "b": says(ConnectError("b is away")), "c": says(3)}
        assert await each_answer(asked, "it was not told", "nobody", "shop") == [1, 3]
    (record,) = caplog.records
    assert record.getMessage().startswith("it was not told")
    assert "b is away" in record.getMessage()


async def test_where_nobody_answers_all_reasons_are_told() -> None:
    asked = {"a": says(ConnectError("a is away")), "b": says(ConnectError("b is away"))}
    with pytest.raises(RetryError, match="nobody answered: a is away; b is away"):
        await each_answer(asked, "it was not told", "nobody", "shop")
    with pytest.raises(RetryError, match="nobody answered: none is known"):
        await each_answer({}, "it was not told", "nobody", "shop")


async def test_a_fault_of_our_own_is_no_missing_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        await each_answer({"a": says(1), "b": says(ZeroDivisionError())}, "it was not told", "nobody", "shop")
