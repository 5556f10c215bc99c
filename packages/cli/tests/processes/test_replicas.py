"""An elected group of one server: where its brokers are, and what becomes of it when its leader is killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_cli.processes.places import BrokerSite
from mqframe_cli.processes.replicas import (
    away_seconds,
    election_words,
    own_words,
    refuse_both,
    replica_places,
)
from mqframe_cli.settings.configuration import load
from mqframe_testing.ports import lasting_port

from mqframe import Admin, ClientSettings, Message, Producer, Puller, StoreReader
from mqframe.core.config.configuration import Resolved
from mqframe.core.errors import FixError, MqframeError, SettingError

REAL_SECONDS_MAX = 60.0


def settings(folder: Path, *items: str) -> Any:
    def of(name: str) -> Resolved:
        return load("server", {}, None, [f"store.directory={folder}/store", *items], {}, profile=name)

    return of


def values(words: list[str]) -> dict[str, str]:
    assert set(words[::2]) <= {"--set"}
    return dict(word.split("=", 1) for word in words[1::2])


def test_they_have_one_name_and_numbers_and_lie_beside_each_other(tmp_path: Path) -> None:
    found = replica_places(3, settings(tmp_path))
    assert found == [
        BrokerSite("broker-a", 10911, tmp_path / "store", number=1),
        BrokerSite("broker-a", 10921, tmp_path / "store-b", number=2),
        BrokerSite("broker-a", 10931, tmp_path / "store-c", number=3),
    ]
    assert [each.title for each in found] == ["broker-a.1", "broker-a.2", "broker-a.3"]
    with pytest.raises(SettingError, match="--replicas 2 from port 65530 on"):
        replica_places(2, settings(tmp_path, "broker.port=65530"))


def test_a_group_at_home_is_led_at_once_when_nobody_has_anything(tmp_path: Path) -> None:
    of = settings(tmp_path)
    where = replica_places(2, of)
    fresh = values(election_words(where, of("")))
    assert fresh == {
        "replication.role": "ELECTED",
        "election.coordination": "sqlite",
        "plugins.sqlite.file": f"{tmp_path}/election.sqlite",
        "election.lease_ms": "3000",
        "election.renew_ms": "1000",
        "election.margin_ms": "500",
        "election.first_wait_ms": "0",
    }
    held = tmp_path / "store-b" / "commitlog" / ("0" * 20)
    held.parent.mkdir(parents=True)
    held.touch()
    assert values(election_words(where, of("")))["election.first_wait_ms"] == "2000"


def test_one_that_died_is_away_for_two_leases(tmp_path: Path) -> None:
    assert away_seconds(settings(tmp_path)("")) == 6.0
    assert away_seconds(settings(tmp_path, "election.lease_ms=4000")("")) == 8.0
    assert away_seconds(settings(tmp_path, "election.renew_ms=1200")("")) == 10.0


def test_what_was_said_of_elections_counts(tmp_path: Path) -> None:
    of = settings(
        tmp_path,
        "election.coordination=etcd",
        "election.lease_ms=4000",
        "election.first_wait_ms=7",
        "plugins.sqlite.file=elsewhere",
        "replication.port=10912",
    )
    where = replica_places(2, of)
    assert values(election_words(where, of(""))) == {"replication.role": "ELECTED"}
    assert values(own_words(where[1], of(""))) == {"replication.id": "2", "replication.port": "10922"}
    assert values(own_words(where[1], settings(tmp_path)(""))) == {"replication.id": "2"}


def test_copies_of_several_brokers_are_refused_with_a_sentence(tmp_path: Path) -> None:
    refuse_both(2, 1)
    refuse_both(1, 2)
    with pytest.raises(FixError, match="--brokers 2 --replicas 3: choose one"):
        refuse_both(2, 3)
    words = ["server", "--brokers", "2", "--replicas", "2", "--data", str(tmp_path / "data")]
    command = [sys.executable, "-m", "mqframe", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=REAL_SECONDS_MAX, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mqframe: --brokers 2 --replicas 2: choose one.")
    assert not (tmp_path / "data").exists()


def brokers(process: subprocess.Popen[str]) -> dict[str, int]:
    """The brokers of a server by their port: their process ids."""
    found = {}
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended since
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "--port" in words:
                found[words[words.index("--port") + 1]] = int(pid)
    return found


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + REAL_SECONDS_MAX
    while True:
        with contextlib.suppress(MqframeError):
            if condition():
                return
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_another_one_leads_when_the_leader_is_killed_and_nothing_acknowledged_is_missing(
    start: Callable[..., Any], data: Path
) -> None:
    port = lasting_port(-2, 1, 8, 10, 11)
    # A lease of 3 s, as it has at home, is lost where other tests leave no processor to its holder.
    lease = ("election.lease_ms=5000", "election.renew_ms=1000", "election.margin_ms=500")
    chosen = ("store.disk_limits=false", "store.commit_log_file_bytes=1048576", *lease)
    running = start(
        *("server", "--replicas", "2", "--nameserver-port", "0", "--broker-port", str(port)),
        *("--data", str(data), *(word for each in chosen for word in ("--set", each))),
    )
    addresses = (f"127.0.0.1:{port}", f"127.0.0.1:{port + 10}")
    found = re.fullmatch(
        r"ready nameserver=(\S+) broker-a.1=(\S+) broker-a.2=(\S+) leader=(\S+)\n", running.ready
    )
    assert found, running.ready
    nameserver, *others, leader = found.groups()
    assert tuple(others) == addresses
    other = addresses[1 - addresses.index(leader)]
    acknowledged: dict[str, bytes] = {}
    producer = Producer("p", nameserver=nameserver, client=ClientSettings(route_poll_seconds=0.5))
    with Admin(nameserver=nameserver) as admin, producer:

        def are_both_in_sync() -> bool:
            return [(each.in_sync, each.behind_bytes) for each in admin.replicas.list()] == [
                (1, None),
                (None, 0),
            ]

        def send(body: bytes) -> bool:
            sent = producer.send(Message("kept", body))
            acknowledged[sent.message_id] = body
            return True

        until(are_both_in_sync)
        admin.topics.create("kept", queues=1)
        for number in range(20):
            assert send(b"before %d" % number)
        killed = brokers(running.process)[leader.rpartition(":")[2]]
        os.kill(killed, signal.SIGKILL)
        until(lambda: send(b"after"))
        assert admin.cluster.masters() == {"broker-a": other}
        until(are_both_in_sync)
        assert [each.address for each in admin.replicas.list()] == [other, leader]
        for number in range(20):
            assert send(b"again %d" % number)
        with Puller(nameserver=nameserver) as puller:
            (queue,) = puller.queues("kept")
            end = puller.max_offset(queue)
            pulled: dict[str, bytes] = {}
            while len(pulled) < end:
                pulled |= {m.message_id: m.body for m in puller.pull(queue, len(pulled), wait=5.0).messages}
        assert acknowledged.items() <= pulled.items()
    running.process.send_signal(signal.SIGTERM)
    running.process.communicate(timeout=REAL_SECONDS_MAX)
    assert running.process.returncode == 0
    kept = [StoreReader(data / name).queue_range("kept", 0) for name in ("store", "store-b")]
    assert kept == [(0, end), (0, end)]
