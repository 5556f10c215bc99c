"""When a process that ended is started again."""

from __future__ import annotations

import signal

import pytest
from mqframe_cli.processes.restarts import (
    STEADY_SECONDS,
    WAIT_SECONDS_MAX,
    WRONG,
    Next,
    RestartVerdict,
    ServerRestarts,
    WorkerRestarts,
)


def test_one_that_finished_is_not_started_again() -> None:
    assert WorkerRestarts(watched=False).ended(0, 0.0) == RestartVerdict(Next.FINISHED)


def test_one_that_dies_young_waits_ever_longer() -> None:
    restarts = WorkerRestarts(watched=False)
    waits = [restarts.ended(1, 0.1) for _ in range(9)]
    assert [each.next for each in waits] == [Next.AGAIN] * 9
    assert [each.seconds for each in waits] == [0.5, 1, 2, 4, 8, 16, 30, 30, WAIT_SECONDS_MAX]


def test_one_that_was_in_order_is_replaced_at_once_and_forgiven() -> None:
    restarts = WorkerRestarts(watched=False)
    for _ in range(4):
        restarts.ended(-signal.SIGSEGV, 1.0)
    assert restarts.ended(-signal.SIGKILL, STEADY_SECONDS) == RestartVerdict(Next.AGAIN, 0.0)
    assert restarts.ended(-signal.SIGKILL, 1.0) == RestartVerdict(Next.AGAIN, 0.5)


def test_one_that_never_ran_as_it_stands_is_given_up() -> None:
    assert WorkerRestarts(watched=False).ended(WRONG, 0.1) == RestartVerdict(Next.GIVE_UP)


def test_one_that_ran_before_is_not_given_up() -> None:
    restarts = WorkerRestarts(watched=False)
    restarts.ended(1, 1.0)
    assert restarts.ended(WRONG, 0.1).next is Next.AGAIN


def test_where_files_are_watched_the_author_mends_it() -> None:
    assert WorkerRestarts(watched=True).ended(WRONG, 0.1) == RestartVerdict(Next.WAIT_FOR_CHANGE)
    assert WorkerRestarts(watched=True).ended(1, 0.1) == RestartVerdict(Next.AGAIN, 0.5)


@pytest.mark.parametrize("code", [0, 1, WRONG, -signal.SIGKILL])
def test_a_server_that_was_never_ready_is_given_up(code: int) -> None:
    assert ServerRestarts().ended(code, 2 * STEADY_SECONDS) == RestartVerdict(Next.GIVE_UP)


@pytest.mark.parametrize("code", [0, 1, WRONG, -signal.SIGKILL])
def test_a_server_that_was_ready_is_started_again_however_it_ended(code: int) -> None:
    restarts = ServerRestarts()
    restarts.ready()
    assert restarts.ended(code, STEADY_SECONDS) == RestartVerdict(Next.AGAIN, 0.0)
    assert [restarts.ended(code, 1.0).seconds for _ in range(3)] == [0.5, 1, 2]
