"""The application that the tests run. It is copied next to the workers, which import it by its name."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from celery import Celery, Task
from celery.exceptions import Reject
from celery.signals import task_prerun, task_revoked
from kombu import Queue
from pydantic import BaseModel

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
    accept_content=["json", "yaml"],
)

if steps := os.environ.get("TEST_STEPS"):
    app.conf.task_queues = [Queue("celery"), Queue(steps, max_priority=9)]
if arguments := os.environ.get("TEST_QUEUE_ARGUMENTS"):
    app.conf.task_queues = [Queue("celery", queue_arguments=json.loads(arguments))]


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


class Order(BaseModel):
    number: int


def worked(self, order, fails: bool, typed: bool) -> dict[str, int]:
    """The work of each of the tasks below."""
    assert isinstance(order, Order if typed else dict)
    number = order.number if typed else order["number"]
    if fails and not self.request.retries:
        raise self.retry(countdown=0.2)
    note(f"worked-{number}")
    return {"number": number + 1}


def task_of(typed: bool, late: bool) -> Task:
    """One of the tasks `work_plain_early`, `work_typed_late`, …"""
    if typed:

        def work(self, order: Order, fails: bool) -> dict[str, int]:
            return worked(self, order, fails, typed)
    else:

        def work(self, order: dict[str, int], fails: bool) -> dict[str, int]:
            return worked(self, order, fails, typed)

    name = f"work_{'typed' if typed else 'plain'}_{'late' if late else 'early'}"
    return app.task(shared=False, bind=True, name=name, acks_late=late, pydantic=typed)(work)


WORK = {(typed, late): task_of(typed, late) for typed in (False, True) for late in (False, True)}


@task_prerun.connect
def before(task: Task, args: tuple[object, ...], **_: object) -> None:
    """Notes that a task begins, as applications have it that count or trace them."""
    if task.name.startswith("work_"):
        note(f"before-{args[0]['number']}")


@task_revoked.connect
def after_expiry(request: object, expired: bool, **_: object) -> None:
    """Notes that a task was too old."""
    if expired:
        note(f"expired-{request.id}")
