from __future__ import annotations

import errno

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.left_out import LeftOut
from mqframe.core.errors import MessageError, Refusal, StoreUnavailable
from mqframe.core.storage.left_out import MessagePlace

PLACE = MessagePlace("t", 2, 5, 700)


@pytest.fixture
def left_out():
    return LeftOut(ManualClock(), Identity(BrokerSettings(host="127.0.0.1", port=10911)))


def failing(problem):
    def work():
        raise problem

    return work


@pytest.mark.parametrize(
    "problem",
    [
        MessageError("too large"),
        ValueError("odd"),
        OverflowError("odd"),
        RecursionError(),
        Refusal(13, "odd"),
    ],
)
def test_whatever_a_message_raises_leaves_it_alone_out(left_out, problem):
    assert not left_out.attempt("timer", PLACE, failing(problem))
    (noted,) = left_out.messages.newest
    assert (noted.task, noted.topic, noted.queue_id, noted.queue_offset) == ("timer", "t", 2, 5)
    assert noted.log_offset == 700
    assert noted.problem == f"{type(problem).__name__}: {problem}"


@pytest.mark.parametrize(
    "problem",
    [StoreUnavailable("full"), Refusal(14, "full"), OSError(errno.ENOSPC, "full"), MemoryError()],
)
def test_what_may_pass_leaves_nothing_out(left_out, problem):
    with pytest.raises(type(problem)):
        left_out.attempt("timer", PLACE, failing(problem))
    assert left_out.counters() == {"leftOutMessages": "0"}


def test_operators_see_the_newest_with_ids_to_look_them_up_by(left_out):
    for number in range(20):
        left_out.note("timer", MessagePlace("t", 0, number, 16 * number), "odd")
    counters = left_out.counters()
    assert counters["leftOutMessages"] == "20"
    assert len(counters) == 17
    assert counters["leftOut.01"] == (
        "7F00000100002A9F0000000000000130 timer: t queue 0 offset 19, log offset 304: odd"
    )
    assert "offset 4," in counters["leftOut.16"]
