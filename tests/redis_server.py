"""A real Redis, for tests of what works with one, or beside one."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from own_programs import missing, served
from real_time import until


class RedisServer:
    """Redis on a free port of the loopback interface, with its files in `folder`."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen([self._program, *words], stdout=subprocess.DEVNULL)
        until(self._answers)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis(port=self.port, **options)

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.exceptions.ConnectionError:
            return False


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """A Redis that keeps nothing on disk. Where none is installed the test is skipped; in CI it fails."""
    program = shutil.which("redis-server") or missing("not installed: redis-server")
    yield from served("redis", lambda folder: RedisServer(program, folder))
