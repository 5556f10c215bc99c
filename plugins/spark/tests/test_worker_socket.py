"""Connections over loopback are told not to wait, in tasks, and belong to whoever had them."""

import contextlib
import os
import pickle
import socket
from collections.abc import Iterator

import pytest
from mqframe_spark import worker_socket
from mqframe_spark.worker_socket import InTasks, hurry

NODELAY = socket.IPPROTO_TCP, socket.TCP_NODELAY
QUICK = getattr(socket, "TCP_QUICKACK", None)


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6])
def connection(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """The worker's end of one, which puts acknowledgements off."""
    host = "127.0.0.1" if request.param == socket.AF_INET else "::1"
    with contextlib.ExitStack() as opened:
        try:
            listener = opened.enter_context(socket.create_server((host, 0), family=request.param))
        except OSError as problem:
            pytest.skip(f"no loopback {host}: {problem}")
        opened.enter_context(socket.create_connection(listener.getsockname()[:2]))
        ours, _ = listener.accept()
        opened.enter_context(ours)
        if QUICK is not None:
            ours.setsockopt(socket.IPPROTO_TCP, QUICK, 0)
        yield ours


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is a worker at a task."""
    monkeypatch.setattr(worker_socket.TaskContext, "get", lambda: "a task")
    monkeypatch.delenv("PYTHON_UNIX_DOMAIN_ENABLED", raising=False)


class Reader(InTasks):
    def __init__(self) -> None:
        self.rows = 3


def test_what_a_task_calls_has_nothing_wait_once_it_is_read(connection: socket.socket, task: None) -> None:
    sent = pickle.dumps(Reader())
    assert connection.getsockopt(*NODELAY) == 0
    assert pickle.loads(sent).rows == 3
    assert connection.getsockopt(*NODELAY) == 1
    if QUICK is not None:
        assert connection.getsockopt(socket.IPPROTO_TCP, QUICK) == 1


def test_outside_of_tasks_nothing_is_touched(connection: socket.socket) -> None:
    assert pickle.loads(pickle.dumps(Reader())).rows == 3
    assert connection.getsockopt(*NODELAY) == 0


def test_without_tcp_nothing_is_looked_for(
    connection: socket.socket, task: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_UNIX_DOMAIN_ENABLED", "true")
    hurry()
    assert connection.getsockopt(*NODELAY) == 0


def test_other_descriptors_are_left_alone(task: None) -> None:
    reading, writing = os.pipe()
    one, other = socket.socketpair()
    with one, other, socket.create_server(("127.0.0.1", 0)) as listener, open(os.devnull) as file:
        hurry()
        os.write(writing, b"x")
        assert os.read(reading, 1) == b"x"
        one.sendall(b"y")
        assert other.recv(1) == b"y"
        assert listener.getsockopt(*NODELAY) == 0
        assert file.read() == ""
    os.close(reading)
    os.close(writing)


def test_a_system_without_the_folder_is_no_error(
    connection: socket.socket, task: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_socket, "_DESCRIPTORS", "/nowhere")
    hurry()
    assert connection.getsockopt(*NODELAY) == 0
