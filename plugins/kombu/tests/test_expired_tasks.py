"""Tasks with `expires`: workers on mqframe and on Redis do the same with those that come too late."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.exceptions import TaskRevokedError
from kombu import Queue
from kombu_workers import SECONDS_MAX, until, words


@pytest.fixture(params=["mqframe", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    """Each broker in turn, empty."""
    if request.param == "redis":
        redis = request.getfixturevalue("redis_server")
        with redis.client() as client:
            client.flushall()
        return f"redis://127.0.0.1:{redis.port}/0"
    return f"mqframe://{request.getfixturevalue('server').nameserver}/{uuid.uuid4().hex[:12]}"


def is_over(seconds: float) -> None:
    end = time.time() + seconds
    until(lambda: time.time() > end)


def test_tasks_that_come_too_late_are_revoked_and_logged(app: Celery, folder: Path, worker) -> None:
    from tasks_of_tests import note

    waited = note.apply_async(("waited",), expires=0.05)
    past = note.apply_async(("past",), expires=datetime.now(UTC) - timedelta(hours=1))
    large = note.apply_async(("large",), expires=0.05, headers={"large": "x" * 30_000})
    note.apply_async(("young",), expires=SECONDS_MAX * 10)
    is_over(0.05)
    running = worker("-P", "solo")
    until(lambda: "young" in words(folder))
    later = note.apply_async(("later",), countdown=0.6, expires=0.3)
    late = [waited, past, large, later]
    until(lambda: f"expired-{later.id}" in words(folder))
    order = [f"expired-{promise.id}" for promise in late]
    assert words(folder) == [*order[:3], "young", order[3]]
    assert [promise.state for promise in late] == ["REVOKED"] * 4
    assert all(isinstance(promise.result, TaskRevokedError) for promise in late)
    assert all(running.said(f"Discarding revoked task: tasks_of_tests.note[{each.id}]") for each in late)
    assert running.stop() == 0
    with app.connection() as connection:
        assert Queue("celery")(connection).queue_declare().message_count == 0


def test_who_waits_for_a_result_hears_that_its_task_came_too_late(app: Celery, worker) -> None:
    from tasks_of_tests import note

    app.conf.result_backend = "rpc://"
    promise = note.apply_async(("waited",), expires=0.05)
    is_over(0.05)
    worker("-P", "solo", TEST_BACKEND="rpc://")
    with pytest.raises(TaskRevokedError, match="expired"):
        promise.get(timeout=SECONDS_MAX)
