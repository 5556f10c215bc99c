"""Failures of listeners in the log: each has its line, few have a traceback."""

from __future__ import annotations

import logging

import pytest
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.push.consume_call import ConsumeCall
from mqframe.client.consuming.push.failure_log import TRACEBACK_AGAIN_SECONDS, FailureLog
from mqframe.client.consuming.push.listener import subscription
from mqframe.core.consuming.consume_result import ConsumeOutcome, ConsumeResult
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import DecodeError
from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("orders", "broker-a", 3)
NAMES = {"UNIQ_KEY": "ID7", "KEYS": "o-1", "TAGS": "paid"}


def batch(messages, context): ...


def handle(message): ...


class Scene:
    def __init__(self, caplog) -> None:
        self.clock = ManualClock()
        self.log = FailureLog("billing", self.clock.monotonic)
        self.caplog = caplog

    def fails(self, error=None, result=None, how=ConsumeOutcome.EXCEPTION, function=batch, topic="orders"):
        """The record of a failed call."""
        self.caplog.clear()
        call = ConsumeCall(
            ProcessQueue(QUEUE, 0.0),
            [received(7, queue_id=3, **NAMES)],
            subscription(topic, "*", function, 1, 1),
            0.0,
        )
        call.error, call.result = error, result
        self.log.note(call, how, call.subscription, "sent back")
        # Formatters of others, such as pyspark's, may fail on an odd exception: it is logged again then.
        return next(each for each in self.caplog.records if each.name == "mqframe.client")


@pytest.fixture
def scene(caplog) -> Scene:
    caplog.set_level(logging.WARNING, "mqframe")
    return Scene(caplog)


def raised(problem: Exception) -> Exception:
    try:
        raise problem
    except Exception as caught:
        return caught


def raised_elsewhere(problem: Exception) -> Exception:
    try:
        raise problem
    except Exception as caught:
        return caught


def test_the_first_failure_has_its_traceback_and_the_same_one_later_a_line(scene) -> None:
    first = scene.fails(raised(ValueError("no stock for o-1")))
    assert first.levelno == logging.WARNING
    assert first.exc_info[1].args == ("no stock for o-1",)
    second = scene.fails(raised(ValueError("no stock for o-2")))
    assert second.exc_info is None
    assert second.getMessage() == (
        "messages were not consumed outcome='exception' problem='ValueError: no stock for o-2'"
        " then='sent back' group='billing' topic='orders' queue='orders/broker-a/3' offsets=[7] ids=['ID7']"
        " keys=['o-1'] tags=['paid'] count=1 attempt=0"
    )


def test_another_kind_or_place_or_topic_shows_its_traceback(scene) -> None:
    assert scene.fails(raised(ValueError("a"))).exc_info
    assert scene.fails(raised(KeyError("a"))).exc_info
    assert scene.fails(raised_elsewhere(KeyError("a"))).exc_info
    assert scene.fails(raised_elsewhere(KeyError("a"))).exc_info is None
    assert scene.fails(raised_elsewhere(KeyError("a")), topic="parcels").exc_info


def test_after_a_while_the_traceback_is_shown_again(scene) -> None:
    assert scene.fails(raised(ValueError("a"))).exc_info
    scene.clock.advance(TRACEBACK_AGAIN_SECONDS - 1)
    assert scene.fails(raised(ValueError("a"))).exc_info is None
    scene.clock.advance(1)
    assert scene.fails(raised(ValueError("a"))).exc_info


async def unawaited():
    return ConsumeResult.SUCCESS


@pytest.mark.parametrize(
    ("function", "result", "problem"),
    [
        (batch, None, "returned None; return ConsumeResult.SUCCESS, or take one message"),
        (batch, "ok", "returned a str; return ConsumeResult.SUCCESS, or take one message"),
        (
            handle,
            True,
            "returned a bool; return nothing or a ConsumeResult, and raise when the",
        ),
        (batch, unawaited, "returned a coroutine; make it an `async def`, so that it is awaited"),
    ],
)
def test_a_wrong_result_is_named_with_what_is_right(scene, function, result, problem) -> None:
    result = result() if result is unawaited else result
    record = scene.fails(result=result, how=ConsumeOutcome.NULL, function=function)
    assert f"{__name__}:{function.__name__} {problem}" in record.getMessage()


def test_an_answer_that_asks_for_another_try_is_one_line(scene) -> None:
    record = scene.fails(result=ConsumeResult.RECONSUME_LATER, how=ConsumeOutcome.FAILED)
    assert "outcome='failed' then='sent back'" in record.getMessage()
    assert record.exc_info is None


def test_an_exception_that_cannot_be_shown_does_no_harm(scene) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    scene.fails(Odd())
    assert "problem='Odd'" in scene.fails(Odd()).getMessage()


def test_a_body_that_is_none_is_told_without_traceback(scene) -> None:
    record = scene.fails(raised(DecodeError("Expected `int`", "$.id")))
    assert record.exc_info is None
    assert "DecodeError: Expected `int` at $.id" in record.getMessage()
