"""A server for all tests of a process, and the application of `tasks_of_tests`."""

from __future__ import annotations

import importlib.util
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import Celery
from mqframe_testing.server_process import ServerProcess

sys.path.insert(0, str(Path(__file__).parent))
from kombu_workers import Worker
from redis_server import RedisServer, running_redis

APP = Path(__file__).with_name("tasks_of_tests.py")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("server")
    small = "store.commit_log_file_bytes=16777216"
    with ServerProcess(data, small, "delay.timer_precision_ms=100") as running:
        yield running


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """What people come from, for all tests of a process."""
    with running_redis() as server:
        yield server


@pytest.fixture
def name() -> str:
    """The name of a queue that no other test has."""
    return f"q.{uuid.uuid4().hex[:12]}"


@pytest.fixture
def url(server: ServerProcess) -> str:
    """A virtual host of its own for each test."""
    return f"mqframe://{server.nameserver}/{uuid.uuid4().hex[:12]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where tasks leave what they did."""
    (tmp_path / "tasks_of_tests.py").write_text(APP.read_text("utf-8"), "utf-8")
    return tmp_path


@pytest.fixture
def app(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """The application of `tasks_of_tests` as a client."""
    monkeypatch.setenv("TEST_BROKER_URL", url)
    monkeypatch.setenv("TEST_FOLDER", str(folder))
    spec = importlib.util.spec_from_file_location("tasks_of_tests", folder / "tasks_of_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tasks_of_tests", module)
    spec.loader.exec_module(module)
    yield module.app
    if module.app.conf.result_backend == "rpc://":
        results = module.app.backend.result_consumer
        results.consume_from("none")  # what has not begun cannot be stopped
        results.stop()
    module.app.close()


@pytest.fixture
def worker(app: Celery, folder: Path) -> Iterator[Callable[..., Worker]]:
    """Starts workers, which are ended after the test."""
    started: list[Worker] = []

    def start(*arguments: str, **environment: str) -> Worker:
        started.append(Worker(folder, *arguments, **environment))
        return started[-1].ready()

    yield start
    for each in started:
        each.kill()
