"""Results: by `rpc://`, which goes through queues of the broker, and in backends that keep them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, chain, chord, group
from celery.exceptions import TimeoutError as NoResult
from kombu_workers import SECONDS_MAX, until, words


@pytest.fixture
def rpc(app: Celery, worker: Any) -> SimpleNamespace:
    """The tasks, and a worker, with results by `rpc://`."""
    app.conf.result_backend = "rpc://"
    worker("-P", "threads", "-c", "2", TEST_BACKEND="rpc://")
    return sys.modules["tasks_of_tests"]


def result(promise: Any) -> Any:
    return promise.get(timeout=SECONDS_MAX)


def test_groups_and_chains_bring_results_by_rpc(rpc: Any) -> None:
    assert result(group(rpc.add.s(n, n) for n in range(10))()) == [2 * n for n in range(10)]
    assert result(chain(rpc.add.s(1, 2), rpc.add.s(3), rpc.add.s(4))()) == 10
    both = group(rpc.add.s(1, 1), chain(rpc.add.s(2, 2), rpc.add.s(1)))()
    assert result(both) == [2, 5]
    assert both.successful()


def test_states_can_be_asked_for_by_rpc(rpc: Any, folder: Path) -> None:
    waiting = rpc.wait_for.delay("go")
    until(lambda: "began-go" in words(folder))
    assert waiting.state == "PENDING"
    (folder / "go").touch()
    until(lambda: waiting.state == "SUCCESS")
    assert result(waiting) == "go"


def test_what_a_task_raised_comes_by_rpc_and_no_wait_is_longer_than_was_said(rpc: Any, folder: Path) -> None:
    wrong = rpc.add.delay(1, "x")
    with pytest.raises(TypeError, match="unsupported operand"):
        result(wrong)
    assert wrong.state == "FAILURE"
    waiting = rpc.wait_for.delay("go")
    with pytest.raises(NoResult):
        waiting.get(timeout=0.1)
    (folder / "go").touch()
    assert result(waiting) == "go"


def test_chords_are_refused_by_rpc_in_words(rpc: Any) -> None:
    with pytest.raises(NotImplementedError, match='"rpc" result backend does not support chords'):
        chord((rpc.add.s(n, n) for n in range(3)), rpc.total.s())()


def test_results_by_rpc_are_for_the_process_that_sent(rpc: Any, app: Celery, url: str) -> None:
    promise = rpc.add.delay(2, 3)
    assert result(promise) == 5
    with Celery(broker=url, backend="rpc://") as other:
        assert other.AsyncResult(promise.id).state == "PENDING"


@pytest.mark.parametrize("kind", ["file", "database", "redis"])
def test_backends_that_keep_results_know_chords_and_tell_every_process(
    request: pytest.FixtureRequest, app: Celery, folder: Path, worker: Any, kind: str
) -> None:
    from tasks_of_tests import add, total

    if kind == "redis":
        backend = f"redis://127.0.0.1:{request.getfixturevalue('redis_server').port}/1"
    else:
        backend = {"file": f"file://{folder}/results", "database": f"db+sqlite:///{folder}/results.db"}[kind]
    app.conf.result_backend = backend
    worker("-P", "threads", "-c", "2", TEST_BACKEND=backend)
    promise = chord((add.s(n, n) for n in range(5)), total.s())()
    assert promise.get(timeout=SECONDS_MAX, interval=0.02) == 20
    with Celery(backend=backend) as other:
        assert other.AsyncResult(promise.id).get(timeout=SECONDS_MAX) == 20
