"""A server that may open no more files: it says so, takes nothing it cannot keep, and goes on afterwards."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import subprocess
import sys
from pathlib import Path

from scenarios.killed_server import SMALL_STORE

from mqframe import Message, Producer
from mqframe.core.errors import MqframeError

LIMIT = 64


def start(data: Path, errors: Path) -> tuple[subprocess.Popen[str], str, str]:
    command = [sys.executable, "-m", "mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    command += ["--data", str(data)]
    for pair in SMALL_STORE:
        command += ["--set", pair]
    with errors.open("w") as sink:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=sink, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)),
        )  # fmt: skip
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 120)
    line = process.stdout.readline() if ready else ""
    addresses = dict(word.split("=", 1) for word in line.split()[1:])
    return process, addresses["nameserver"], addresses["broker"]


def test_a_server_without_descriptors_says_so_and_recovers(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    process, nameserver, broker = start(tmp_path / "data", errors)
    host, _, port = broker.rpartition(":")
    try:
        with Producer("g", nameserver=nameserver) as producer:
            producer.send(Message("t", b"before"))
            with contextlib.ExitStack() as held:
                for _ in range(2 * LIMIT):
                    with contextlib.suppress(OSError):
                        held.enter_context(socket.create_connection((host, int(port)), 5))
                with contextlib.suppress(MqframeError):
                    producer.send(Message("new-topic-needs-files", b"perhaps"))
                assert process.poll() is None
            for _ in range(50):
                try:
                    result = producer.send(Message("t", b"after"))
                    break
                except MqframeError:
                    select.select([], [], [], 0.2)
            assert result.queue_offset >= 0
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
    said = errors.read_text()
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert "disk space" not in said
    for path in (tmp_path / "data").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0
