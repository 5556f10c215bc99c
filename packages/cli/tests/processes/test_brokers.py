"""Several brokers of one server: started, killed, ended, and unable to start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from mqframe_cli.processes.brokers import BrokerProgram, Brokers, words_of
from mqframe_cli.processes.places import BrokerSite
from mqframe_cli.processes.restarts import Next
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.ports import lasting_port

from mqframe import Admin, Message, MessageQueue, Producer, Puller, StoreReader
from mqframe.core.errors import FixError, GiveUpError, RetryError

REAL_SECONDS_MAX = 60.0
PLACE = BrokerSite("broker-b", 0, Path("/data/store-b"))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + REAL_SECONDS_MAX
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_its_words_name_its_place_after_all_that_was_given() -> None:
    assert "metrics." not in "".join(words_of(PLACE, ["127.0.0.1:1"], [])[3:])
    shown = attrs.evolve(PLACE, exporting=(("metrics.port", 5558),))
    measured = words_of(shown, ["127.0.0.1:1"], ["--set", "metrics.port=5557"])
    given = [word for word in measured if word.startswith("metrics.port=")]
    assert given == ["metrics.port=5557", "metrics.port=5558"], "the last one counts"
    words = words_of(PLACE, ["127.0.0.1:1", "[::1]:2"], ["--set", "store.directory=/elsewhere"])
    assert words[3:6] == ["broker", "--supervised", "--name"]
    assert words[words.index("--nameserver") + 1] == "127.0.0.1:1;[::1]:2"
    assert words[-1] == "store.directory=/data/store-b"


def program(*told: str) -> BrokerProgram:
    made = BrokerProgram(PLACE, ["true"])
    for line in told:
        made.heard(line)
    return made


@pytest.mark.parametrize(("code", "kind"), [(1, GiveUpError), (2, FixError), (3, RetryError)])
def test_one_that_cannot_start_says_why_as_its_exit_code_means(code: int, kind: type[Exception]) -> None:
    failed = program("failed the port is taken")
    assert failed.ended(code, 0.1).next is Next.GIVE_UP
    assert type(failed.problem) is kind
    assert str(failed.problem) == "broker-b: the port is taken"


def test_one_that_is_killed_at_its_start_cannot_start_either() -> None:
    killed = program()
    assert killed.ended(-signal.SIGKILL, 0.1).next is Next.GIVE_UP
    assert str(killed.problem) == "broker-b: cannot start: killed by SIGKILL"


def test_one_of_a_group_leaves_the_others_time_to_elect_a_leader() -> None:
    one = BrokerProgram(attrs.evolve(PLACE, number=2), ["true"], away_seconds=5.0)
    one.heard("ready 127.0.0.1:7")
    assert one.name == "broker-b.2"
    assert one.ended(-signal.SIGKILL, 100.0) == (Next.AGAIN, 5.0)


def test_one_that_was_ready_comes_again_and_its_death_is_no_failure_of_all() -> None:
    served = program("ready 127.0.0.1:7")
    assert (served.address, served.ready.is_set()) == ("127.0.0.1:7", True)
    assert served.ended(-signal.SIGKILL, 0.1).next is Next.AGAIN
    served.command()
    served.heard("failed the port is taken")
    assert served.how(2) == "the port is taken"
    assert served.ended(2, 0.1).next is Next.AGAIN
    assert served.problem is None


@pytest.mark.parametrize(
    ("told", "code", "said"),
    [
        (["ready 127.0.0.1:7"], 0, "None"),
        (["ready 127.0.0.1:7"], -9, "broker-b did not stop in good order: killed by SIGKILL"),
        ([], -15, "None"),
    ],
)
def test_how_it_stopped_counts_once_it_served(told: list[str], code: int, said: str) -> None:
    stopped = program(*told)
    stopped.stopped(code)
    assert str(stopped.problem) == said


async def test_one_that_cannot_start_ends_the_others_and_is_what_is_raised() -> None:
    script = (
        "import os, signal, sys\n"
        "from mqframe_cli.processes.parent import tell_supervisor\n"
        "if sys.argv[1] == 'bad': tell_supervisor('failed no luck'); sys.exit(2)\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "tell_supervisor('ready 127.0.0.1:1'); signal.pause()\n"
    )

    good, bad = BrokerSite("good", 0, Path()), BrokerSite("bad", 0, Path())
    brokers = Brokers(
        {each: [sys.executable, "-c", script, each.name] for each in (good, bad)}, ManualClock()
    )
    with pytest.raises(FixError, match=r"^bad: no luck$"):
        await asyncio.wait_for(brokers.start(), REAL_SECONDS_MAX)
    assert brokers.processes == {}
    fine = Brokers({good: [sys.executable, "-c", script, "good"]}, ManualClock())
    await asyncio.wait_for(fine.start(), REAL_SECONDS_MAX)
    assert fine.addresses == {"good": "127.0.0.1:1"}
    await fine.stop()
    assert fine.processes == {}


def children(process: subprocess.Popen[str]) -> dict[str, int]:
    """The brokers of a server by name: their process ids."""
    ids = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = {}
    for pid in ids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended since
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "--name" in words:
                found[words[words.index("--name") + 1]] = int(pid)
    return found


def several(start: Callable[..., Any], data: Path, *words: str) -> Any:
    port = lasting_port(-2, 8, 10)
    ports = ("--nameserver-port", "0", "--broker-port", str(port))
    settings = ("store.disk_limits=false", "store.commit_log_file_bytes=1048576")
    words = (*words, *(word for each in settings for word in ("--set", each)))
    return start("server", "--brokers", "2", *ports, "--data", str(data), *words), port


def test_two_brokers_share_topics_and_one_that_is_killed_comes_back(
    start: Callable[..., Any], data: Path
) -> None:
    running, port = several(start, data, "--log-json")
    found = re.fullmatch(r"ready nameserver=(\S+) broker-a=(\S+) broker-b=(\S+)\n", running.ready)
    assert found, running.ready
    nameserver = found[1]
    assert found.groups()[1:] == (f"127.0.0.1:{port}", f"127.0.0.1:{port + 10}")
    with Admin(nameserver=nameserver) as admin, Producer("p", nameserver=nameserver) as producer:
        assert admin.cluster.info().cluster_addr_table == {"DefaultCluster": ["broker-a", "broker-b"]}
        admin.topics.create("made", queues=2)
        queues = [MessageQueue("made", name, n) for name in ("broker-a", "broker-b") for n in range(2)]
        assert sorted(admin.topics.stats("made")) == queues
        for queue in queues:
            producer.send(Message("made", f"{queue}".encode()), queue=queue)
        killed = children(running.process)["broker-b"]
        os.kill(killed, signal.SIGKILL)
        # The other goes on meanwhile.
        assert producer.send(Message("made", b"on"), queue=queues[0]).queue_offset == 1
        until(lambda: children(running.process).get("broker-b", killed) != killed)
        until(lambda: "broker-b" in admin.cluster.masters())
        with Puller(nameserver=nameserver) as puller:
            kept = [puller.pull(queue, 0, wait=5.0).messages[0].body for queue in queues]
        assert kept == [f"{queue}".encode() for queue in queues]
        # One after the other, as an upgrade does; whoever sends finds the other.
        ended = children(running.process)["broker-a"]
        os.kill(ended, signal.SIGTERM)
        while (
            children(running.process).get("broker-a", ended) == ended
            or "broker-a" not in admin.cluster.masters()
        ):
            producer.send(Message("made", b"meanwhile"))
        stats = admin.topics.stats("made")
    running.process.send_signal(signal.SIGTERM)
    _, errors = running.process.communicate(timeout=REAL_SECONDS_MAX)
    assert running.process.returncode == 0
    died, again = [line for line in errors.splitlines() if "died" in line]
    assert "broker-a" in again
    for word in ("broker-b", "killed by SIGKILL", '"again_in_seconds": '):
        assert word in died
    assert not list(data.rglob("abort"))
    kept_ends = [
        StoreReader(data / name).queue_range("made", n) for name in ("store", "store-b") for n in (0, 1)
    ]
    assert kept_ends == [(0, stats[queue].max_offset) for queue in queues]


def test_a_broker_that_cannot_start_stops_all_with_one_error(start: Callable[..., Any], data: Path) -> None:
    port = lasting_port(-2, 8, 10)
    with socket.create_server(("127.0.0.1", port + 10)):
        words = ["server", "--brokers", "2", "--nameserver-port", "0", "--broker-port", str(port)]
        command = [sys.executable, "-m", "mqframe", *words, "--data", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=REAL_SECONDS_MAX, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mqframe: broker-b: broker cannot start: ")
    assert str(port + 10) in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(data.rglob("abort"))


def test_brokers_do_not_outlive_a_server_that_was_killed(start: Callable[..., Any], data: Path) -> None:
    running, _ = several(start, data)
    pids = children(running.process).values()
    assert len(pids) == 2
    running.process.kill()
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids))
    assert not list(data.rglob("abort"))


def test_ctrl_c_ends_all_and_one_that_had_to_be_killed_shows_in_the_exit_code(
    start: Callable[..., Any], data: Path
) -> None:
    running, _ = several(start, data)
    held = children(running.process)["broker-b"]
    os.kill(held, signal.SIGSTOP)  # so that it cannot end by itself
    running.process.send_signal(signal.SIGINT)
    until(lambda: "broker-a" not in children(running.process))
    os.kill(held, signal.SIGKILL)
    _, errors = running.process.communicate(timeout=REAL_SECONDS_MAX)
    assert running.process.returncode == 1
    assert errors == "mqframe: broker-b did not stop in good order: killed by SIGKILL\n"
