"""What tests of the transport share: waiting, and workers of Celery as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS_MAX = 120.0


def until(what: Callable[[], object], seconds: float = SECONDS_MAX) -> object:
    """What `what` says as soon as it is true."""
    end = time.monotonic() + seconds
    while not (said := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return said


def notes(folder: Path) -> list[tuple[str, int]]:
    """What the tasks noted, and when, ms."""
    file = folder / "notes"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def words(folder: Path) -> list[str]:
    """What the tasks noted."""
    return [text for text, _ in notes(folder)]


class Worker:
    """`celery -A tasks_of_tests worker` in a process group of its own."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.log = folder / f"worker-{uuid.uuid4().hex[:6]}.log"
        command = [sys.executable, "-m", "celery", "-A", "tasks_of_tests", "worker", "-l", "INFO"]
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, *arguments],
                cwd=folder,
                env={**os.environ, **environment, "PYTHONPATH": str(folder)},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self, text: str) -> bool:
        return text in self.log.read_text("utf-8")

    def ready(self) -> Worker:
        until(lambda: self.said(" ready.") or self._process.poll() is not None)
        assert self.said(" ready."), self.log.read_text("utf-8")
        return self

    def kill(self) -> None:
        """As by a loss of power: the worker and its children, at once."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """In good order. Returns the exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait()

    def wait(self) -> int:
        return self._process.wait(SECONDS_MAX)

    @property
    def pid(self) -> int:
        return self._process.pid


@contextmanager
def lasting(seconds: float, most: float) -> Iterator[None]:
    """What is done inside takes from `seconds` to `most`, s."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert seconds <= took <= most, took
