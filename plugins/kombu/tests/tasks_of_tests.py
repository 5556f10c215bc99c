"""The application that the tests run. It is copied next to the workers, which import it by its name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from celery import Celery
from celery.exceptions import Reject

FOLDER = Path(os.environ["TEST_FOLDER"])
(FOLDER / "results").mkdir(exist_ok=True)
app = Celery("tests", broker=os.environ["TEST_BROKER_URL"])
app.conf.update(
    result_backend=os.environ.get("TEST_BACKEND") or f"file://{FOLDER}/results",
    broker_transport_options={
        "visibility_timeout": float(os.environ.get("TEST_VISIBILITY", "30")),
        "reconnect_after": float(os.environ.get("TEST_RECONNECT_AFTER", "5")),
    },
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=int(os.environ.get("TEST_PREFETCH", "4")),
    task_acks_late=bool(os.environ.get("TEST_ACKS_LATE")),
    task_reject_on_worker_lost=bool(os.environ.get("TEST_REJECT_ON_LOST")),
    worker_cancel_long_running_tasks_on_connection_loss=False,
    beat_schedule={"tick": {"task": "tasks_of_tests.note", "schedule": 0.3, "args": ("tick",)}},
    beat_schedule_filename=str(FOLDER / "beat"),
)


@app.task(shared=False)
def add(x: int, y: int) -> int:
    return x + y


@app.task(shared=False)
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task(shared=False)
def note(text: str) -> str:
    """Leaves a line with the time, ms."""
    with (FOLDER / "notes").open("a") as notes:
        notes.write(f"{text} {time.time_ns() // 1_000_000}\n")
    return text


@app.task(shared=False)
def wait_for(text: str) -> str:
    """Notes that it began, and goes on when a file of that name is there."""
    note(f"began-{text}")
    while not (FOLDER / text).exists():
        time.sleep(0.01)
    note(f"ended-{text}")
    return text


@app.task(shared=False, bind=True)
def last_words(self, text: str) -> str:
    """Kills its own process the first time."""
    note(f"{text}-{self.request.delivery_info['redelivered']}")
    if not self.request.delivery_info["redelivered"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return text


@app.task(shared=False, bind=True, max_retries=3)
def flaky(self, failures: int) -> int:
    note(f"try-{self.request.retries}")
    if self.request.retries < failures:
        raise self.retry(countdown=0.5)
    return int(self.request.retries)


@app.task(shared=False, acks_late=True)
def refused(requeue: bool) -> None:
    note("refused")
    raise Reject("not wanted", requeue=requeue)
