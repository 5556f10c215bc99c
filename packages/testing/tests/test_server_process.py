"""A server in a child process."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
from mqframe_testing.server_process import ServerProcess

from mqframe import Message, Producer, Puller, StoreReader
from mqframe.core.errors import GiveUpError


def answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def test_it_runs_on_ports_of_its_own_while_the_block_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQFRAME_NO_SUCH_KEY", "would stop a server that looked at it")
    with ServerProcess(tmp_path / "data") as system:
        assert answers(system.nameserver)
        assert answers(system.broker)
        with Producer(group="p", nameserver=system.nameserver) as producer:
            assert producer.send(Message("orders", b"body")).queue_offset == 0
    assert not answers(system.nameserver)
    assert not answers(system.broker)
    system.end()


def test_a_server_that_cannot_start_is_given_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").write_text("a file where the directory should be")
    with pytest.raises(GiveUpError, match="did not get ready"), ServerProcess(tmp_path / "data"):
        pass


def test_it_comes_back_at_its_addresses_with_what_was_stored(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", "broker.name=broker-z") as system:
        with Producer(group="p", nameserver=system.nameserver) as producer:
            queue = producer.send(Message("orders", b"body")).queue
        system.end(signal.SIGKILL)
        assert not answers(system.broker)
        system.start()
        with Puller(nameserver=system.nameserver) as puller:
            assert puller.max_offset(queue) == 1
    assert queue.broker_name == "broker-z"
    reader = StoreReader(tmp_path / "data/store")
    assert [each.body for each in reader.records("orders", queue.queue_id, 0, 9)] == [b"body"]
