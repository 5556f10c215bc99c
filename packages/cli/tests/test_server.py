"""`mqframe server`, `nameserver` and `broker` as processes."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqframe import Message, Producer, StoreReader

SERVER = ("server", "--nameserver-port", "0", "--broker-port", "0")
Start = Callable[..., Any]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqframe", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_ready_names_two_addresses_that_answer(server: Any) -> None:
    assert re.fullmatch(r"ready nameserver=127\.0\.0\.1:\d+ broker=127\.0\.0\.1:\d+\n", server.ready)
    for name in ("nameserver", "broker"):
        host, port = server.address(name).split(":")
        socket.create_connection((host, int(port)), timeout=60).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_good_order_and_everything_is_kept(start: Start, data: Path, number: int) -> None:
    running = start(*SERVER, "--data", str(data), "--set", "store.disk_limits=false")
    with Producer(group="cli", nameserver=running.address("nameserver")) as producer:
        sent = producer.send(Message("kept", b"body", keys=["k-1"]))
    running.process.send_signal(number)
    assert running.process.wait(120) == 0
    assert not (data / "store" / "abort").exists()
    messages = StoreReader(data / "store").records("kept", sent.queue.queue_id, 0, 10)
    assert [(m.body, m.keys) for m in messages] == [(b"body", ["k-1"])]


def test_connections_leave_the_store_some_files(start: Start, data: Path) -> None:
    settings = ("store.disk_limits=false", "net.busy_poll_microseconds=0")
    running = start(
        *SERVER, "--data", str(data), *(word for each in settings for word in ("--set", each)), files_max=160
    )
    host, port = running.address("broker").split(":")
    with Producer(group="files", nameserver=running.address("nameserver")) as producer:
        assert producer.send(Message("first", b"body")).queue.topic == "first"
        strangers = [socket.create_connection((host, int(port)), timeout=60) for _ in range(150)]
        closed = sum(stranger.recv(1) == b"" for stranger in strangers[-80:])
        assert closed == 80, "those for which there is no room are told so at once"
        for number in range(30):
            sent = producer.send(Message(f"topic-{number}", b"body"))
            assert sent.queue_offset == 0
        for stranger in strangers:
            stranger.close()
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(120) == 0
    reader = StoreReader(data / "store")
    held = [reader.queue_range(f"topic-{n}", queue)[1] for n in range(30) for queue in range(8)]
    assert sum(held) == 30


def test_a_directory_in_use_is_refused(start: Start, data: Path) -> None:
    first = start(*SERVER, "--data", str(data))
    assert first.ready.startswith("ready ")
    second = run(*SERVER, "--data", str(data))
    assert second.returncode == 1
    assert str(data / "store") in second.stderr
    assert "Traceback" not in second.stderr
    assert first.process.poll() is None


def test_a_port_in_use_is_a_setting_to_change(server: Any, data: Path) -> None:
    port = server.address("nameserver").split(":")[1]
    result = run("server", "--nameserver-port", port, "--broker-port", "0", "--data", str(data))
    assert result.returncode == 2
    assert port in result.stderr
    assert "nameserver cannot start" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "store.fluhs=SYNC_FLUSH"], "store.fluhs"),
        (["--set", "store.flush=SOMETIMES"], "store.flush"),
        (["--set", "nonsense"], "key=value"),
        (["--broker-port", "70000"], "broker.port"),
        (["--config", "/nowhere/server.toml"], "/nowhere/server.toml"),
        (["--log-level", "loud"], "--log-level loud"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(data: Path, words: list[str], said: str) -> None:
    result = run("server", "--data", str(data), *words)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_broker_conf_is_taken_and_its_other_keys_are_listed(start: Start, tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "brokerName=broker-x\nlistenPort=0\nflushDiskType=SYNC_FLUSH\nbrokerRole=ASYNC_MASTER\ndiskFallRecorded=true\n"
    )
    running = start("server", "--nameserver-port", "0", "--data", str(tmp_path), "--config", str(conf))
    with Producer(group="cli", nameserver=running.address("nameserver")) as producer:
        assert producer.send(Message("named", b"body")).queue.broker_name == "broker-x"
    running.process.terminate()
    _, errors = running.process.communicate(timeout=120)
    assert running.process.returncode == 0
    assert "without effect" in errors
    assert "diskFallRecorded" in errors
    assert errors.count("\n") == 1


def test_name_server_and_broker_apart(start: Start, data: Path) -> None:
    nameserver = start("nameserver", "--port", "0", "--data", str(data))
    address = nameserver.address("nameserver")
    broker = start(
        "broker", "--port", "0", "--nameserver", address, "--data", str(data), "--name", "broker-b"
    )
    assert broker.ready.startswith("ready broker=127.0.0.1:")
    with Producer(group="cli", nameserver=address) as producer:
        assert producer.send(Message("apart", b"body")).queue.broker_name == "broker-b"


def test_the_server_does_not_import_what_it_does_not_need() -> None:
    code = (
        "import sys, mqframe_cli.app, mqframe_cli.server, mqframe_cli.settings.configuration\n"
        "import mqframe_cli.processes.serving\n"
        "import mqframe.nameserver.server, mqframe.broker.broker\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'rich', 'structlog', 'mqframe.client')"
        " if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_dispatchers_and_their_options_come_from_the_configuration(start: Start, tmp_path: Path) -> None:
    conf = tmp_path / "server.toml"
    conf.write_text('[broker]\ndispatchers = ["parquet"]\n[plugins.parquet]\nno_such_option = 1\n')
    words = (*SERVER, "--data", str(tmp_path / "data"), "--config", str(conf))
    refused = run(*words)
    assert refused.returncode == 2
    assert "no_such_option" in refused.stderr
    conf.write_text(
        '[broker]\ndispatchers = ["parquet"]\n[plugins.parquet]\nformat = "delta"\nsize_bytes_max = 1\n'
    )
    refused = run(*words)
    assert refused.returncode == 2
    assert "plugins.parquet.size_bytes_max = 1 is not for format = 'delta'" in refused.stderr
    conf.write_text('[broker]\ndispatchers = ["parquet"]\n')
    assert start(*words).ready.startswith("ready ")


def test_a_metrics_port_shows_both_servers_and_is_named_first(start: Start, data: Path) -> None:
    running = start(*SERVER, "--metrics-port", "0", "--data", str(data), "--set", "store.disk_limits=false")
    assert re.fullmatch(r"ready metrics=\S+ nameserver=\S+ broker=\S+\n", running.ready)
    address = running.address("metrics")
    with Producer(group="cli", nameserver=running.address("nameserver")) as producer:
        producer.send(Message("orders", b"body"))
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    (came,) = [line for line in lines if re.match(r'rocketmq_messages_in_total\{.*topic="orders"', line)]
    assert came.endswith(" 1")
    for node in ("broker", "nameserver"):
        assert any(
            line.startswith("rocketmq_rpc_latency") and f'node_type="{node}"' in line for line in lines
        )
    with urllib.request.urlopen(f"http://{address}/readyz", timeout=60) as answer:
        assert json.load(answer)["ready"] is True
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(120) == 0


def test_a_broker_without_its_name_server_is_healthy_and_not_ready(start: Start, data: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = f"127.0.0.1:{nobody.getsockname()[1]}"
        words = ("broker", "--port", "0", "--nameserver", away, "--metrics-port", "0", "--data", str(data))
        running = start(*words, "--set", "store.disk_limits=false")
        address = running.address("metrics")
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=60) as answer:
            assert json.load(answer)["waits_for"] == ["no name server knows broker"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{address}/readyz", timeout=60)
        assert refused.value.code == 503
        refused.value.close()


def test_a_metrics_port_in_use_is_a_setting_to_change(server: Any, data: Path) -> None:
    port = server.address("nameserver").split(":")[1]
    done = run(*SERVER, "--metrics-port", port, "--data", str(data))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "metrics cannot start" in done.stderr
