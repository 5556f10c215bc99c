"""Features that may meet in one task of Celery: each pair works."""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from celery import VERSION, Celery
from kombu import Queue
from kombu_workers import SECONDS_MAX, notes, until

FEATURES: tuple[str, ...] = (
    "typed",
    "yaml",
    "compressed",
    "priority",
    "countdown",
    "expires",
    "retry",
    "late",
    "signal",
)
if VERSION < (5, 5):  # which knows no models of pydantic yet
    FEATURES = FEATURES[1:]
PAIRS = [*combinations(FEATURES, 2), FEATURES]
COUNTDOWN_MS = 500


def send(number: int, features: tuple[str, ...]) -> Any:
    """A task that has these features; its result comes by `rpc://`."""
    from tasks_of_tests import WORK

    has = features.__contains__
    options: dict[str, Any] = {"queue": "celery"}
    if has("yaml"):
        options["serializer"] = "yaml"
    if has("compressed"):
        options["compression"] = "zlib"
    if has("priority"):
        options |= {"queue": Queue("steps", max_priority=9), "priority": 7}
    if has("countdown"):
        options["countdown"] = COUNTDOWN_MS / 1000
    if has("expires"):
        options["expires"] = SECONDS_MAX
    task = WORK[has("typed"), has("late")]
    return task.apply_async(({"number": number}, has("retry")), **options)


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_two_features_and_all_meet_in_one_task(app: Celery, folder: Path, worker: Any, pool: str) -> None:
    app.conf.result_backend = "rpc://"
    app.conf.task_queues = [Queue("celery"), Queue("steps", max_priority=9)]
    worker("-P", pool, "-Q", "celery,steps", TEST_BACKEND="rpc://", TEST_STEPS="steps")
    sent_ms: dict[int, int] = {}
    promises = []
    for number, features in enumerate(PAIRS):
        sent_ms[number] = time.time_ns() // 1_000_000
        promises.append(send(number, features))
    answers = {PAIRS[n]: promise.get(timeout=SECONDS_MAX) for n, promise in enumerate(promises)}
    assert answers == {features: {"number": n + 1} for n, features in enumerate(PAIRS)}
    until(lambda: sum(text.startswith("worked-") for text, _ in notes(folder)) == len(PAIRS))
    for number, features in enumerate(PAIRS):
        began = [at for text, at in notes(folder) if text == f"before-{number}"]
        assert len(began) == (2 if "retry" in features else 1), features
        if "countdown" in features:
            assert began[0] - sent_ms[number] >= COUNTDOWN_MS, features
