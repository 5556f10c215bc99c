"""Brokers that elect their leader, each a process of its own, with what they need: to be killed."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from mqframe_testing.ports import lasting_port
from real_time import until

from mqframe import Admin, ClientSettings, MqframeError

START_SECONDS_MAX = 120.0
ANSWER_SECONDS = 2.0
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("MQFRAME_", "ETCD_"))}


class Engine(Protocol):
    """Where a group keeps who leads it, to be taken away and given back."""

    settings: tuple[str, ...]

    def start(self) -> None:
        """Have it answer, for the first time or again."""

    def kill(self) -> None:
        """Have it answer nobody."""


class Etcd:
    """One member of etcd, on loopback, in a folder of its own; it keeps what it has when it is killed."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="mqframe-etcd-", dir=memory if memory.is_dir() else None))
        self._port = port = lasting_port(1)
        here, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
        self.settings: tuple[str, ...] = ("election.coordination=etcd", f"plugins.etcd.endpoints={here}")
        self._command = ["etcd", "--name", "m0", "--data-dir", str(self.folder / "data")]
        self._command += ["--initial-cluster", f"m0={peer}", "--initial-advertise-peer-urls", peer]
        self._command += ["--listen-peer-urls", peer, "--listen-client-urls", here]
        self._command += ["--advertise-client-urls", here]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until its port answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=CLEAN)
        until(self._listens)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-3000:]
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self._port), 1).close()
            return True
        return False

    def kill(self) -> None:
        """As a power loss: it does not say good-bye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def end(self) -> None:
        """End it, with all that it kept."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class SharedFile:
    """The built-in engine: an SQLite file. It is taken away by a lock, which no broker gets past."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "group.sqlite"
        self.settings: tuple[str, ...] = (
            "election.coordination=sqlite",
            f"plugins.sqlite.file={self._file}",
        )
        self._lock: sqlite3.Connection | None = None

    def start(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            self._lock.rollback()
            self._lock.close()
            self._lock = None

    def kill(self) -> None:
        """Lock the file, as soon as no broker uses it."""
        if self._lock is None:
            self._lock = sqlite3.connect(self._file, timeout=60, isolation_level=None)
            self._lock.execute("BEGIN EXCLUSIVE")

    def end(self) -> None:
        """Let go of the lock."""
        self.start()


class Member:
    """`mqframe broker` number `number` of its group; it has its port and its folder again after a kill."""

    def __init__(self, folder: Path, number: int, words: list[str]) -> None:
        self.number = number
        self.folder = folder / f"broker-{number}"
        self.port = lasting_port(1, -2)
        self.address = f"127.0.0.1:{self.port}"
        self.store = self.folder / "store"
        self._errors = folder / f"broker-{number}.log"
        self.code: Path | None = None
        """Another checkout of this repository, whose code it runs from its next start on."""
        self._words = [
            "broker", *words, "--port", str(self.port), "--data", str(self.folder),
            "--set", f"replication.id={number}",
        ]  # fmt: skip
        self._process: subprocess.Popen[str] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of its process, while it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self, *more: str) -> None:
        """Start it, with settings of this run besides, "section.key=value"; `ready` waits for it."""
        self._process = run([*self._words, *setting_words(more)], self._errors, self.code)

    def ready(self) -> None:
        """Wait until it serves."""
        assert self._process is not None
        read_ready(self._process, self._errors)

    def pause(self) -> None:
        """Have it stand still: its connections stay, and nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # On a busy machine other threads serve until one has taken the signal.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        """Have it go on where it was."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def refuses(self) -> str:
        """Wait until it has ended by itself, as it cannot start; what it said last."""
        assert self._process is not None
        code = self._process.wait(60)
        self.end()
        assert code == 1, self.said()
        return self.said().splitlines()[-1]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int | None:
        """End it by a signal, and wait for that; its exit code, `None` where it did not run."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            if number != signal.SIGKILL:
                process.send_signal(signal.SIGCONT)
            try:
                process.wait(60)
            finally:
                process.kill()
                process.wait(60)
                assert process.stdout is not None
                process.stdout.close()
        return None if process is None else process.returncode

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def log(self, end: int) -> bytes:
        """Its log, from the start to `end`."""
        files = sorted(path for path in (self.store / "commitlog").iterdir() if path.name.isdecimal())
        return b"".join(path.read_bytes() for path in files)[:end]

    def cut(self) -> bytes:
        """All that it cut off its log, and kept."""
        folder = self.store / "cut"
        return b"".join(path.read_bytes() for path in sorted(folder.glob("**/*")) if path.is_file())

    def said(self) -> str:
        """What it logged last."""
        return self._errors.read_text()[-4000:]


class ElectedGroup:
    """A name server and `count` brokers of one group with `engine`. A context manager: all are started.

    `more`: further settings of the brokers, "section.key=value".
    """

    def __init__(self, folder: Path, engine: Engine, *more: str, count: int = 3) -> None:
        self.engine = engine
        self._folder = folder
        self._names_port = lasting_port()
        self.nameserver = f"127.0.0.1:{self._names_port}"
        settings = (
            "replication.role=ELECTED", "store.disk_limits=false", "store.commit_log_file_bytes=16777216",
            *engine.settings, *more,
        )  # fmt: skip
        words = ["--name", "group-a", "--nameserver", self.nameserver, "--log-level", "info"]
        words += setting_words(settings)
        self.members = {number: Member(folder, number, words) for number in range(1, count + 1)}
        self._names: subprocess.Popen[str] | None = None
        self.code: Path | None = None
        """As of `Member`, for the name server."""
        client = ClientSettings(request_timeout_seconds=ANSWER_SECONDS)
        self.admin = Admin(nameserver=self.nameserver, client=client)

    def __enter__(self) -> ElectedGroup:
        try:
            self._start_names()
            self.engine.start()
            for member in self.members.values():
                member.start()
            for member in self.members.values():
                member.ready()
            self.admin.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.admin.stop()
        self._end()

    def _end(self) -> None:
        for member in self.members.values():
            member.kill()
        if self._names is not None:
            self._names.kill()
            self._end_names()

    def _start_names(self) -> None:
        errors = self._folder / "names.log"
        self._names = run(["nameserver", "--port", str(self._names_port)], errors, self.code)
        read_ready(self._names, errors)

    def _end_names(self) -> None:
        assert self._names is not None
        self._names.wait(60)
        assert self._names.stdout is not None
        self._names.stdout.close()

    def restart_names(self) -> None:
        """End the name server in order, and start it again."""
        assert self._names is not None
        self._names.terminate()
        self._end_names()
        self._start_names()

    def counters(self, member: Member) -> dict[str, str]:
        """What `member` tells of itself; empty while it does not answer."""
        try:
            return self.admin.brokers.runtime(member.address)
        except MqframeError:
            return {}

    def end_of(self, member: Member) -> int:
        """Where the log of `member` ends; -1 while it does not answer."""
        return int(self.counters(member).get("commitLogMaxOffset", -1))

    def leaders(self, *asked: Member) -> list[Member]:
        """Of those that are asked, all by default, who lead and say so."""
        running = [each for each in asked or self.members.values() if each.runs]
        return [each for each in running if "replicationMembers" in self.counters(each)]

    def leader(self, *asked: Member, seconds: float = START_SECONDS_MAX) -> Member:
        """Who leads, as soon as one does, of those that are asked."""
        found: list[Member] = []

        def is_there() -> bool:
            found[:] = self.leaders(*asked)
            return len(found) == 1

        until(is_there, seconds)
        return found[0]

    def others(self, member: Member) -> list[Member]:
        return [each for each in self.members.values() if each is not member]

    def in_sync(self) -> tuple[int, ...]:
        """The set, as the leader tells it; empty without one."""
        for leader in self.leaders():
            return tuple(map(int, self.counters(leader).get("replicationMembers", "").split()))
        return ()

    def until_alike(self) -> int:
        """Wait until all logs end at one offset, which is confirmed by all; where that is."""
        ends: set[tuple[int, int]] = set()

        def alike() -> bool:
            told = [self.counters(each) for each in self.members.values()]
            ends.clear()
            ends.update(
                (int(each.get("commitLogMaxOffset", -1)), int(each.get("replicationConfirmed", -2)))
                for each in told
            )
            (end, confirmed), *more = ends
            return not more and end == confirmed

        until(alike)
        return ends.pop()[0]


def setting_words(settings: Iterable[str]) -> list[str]:
    """The words of `settings`, each "section.key=value", on a command line; the last one of a key counts."""
    return [word for each in settings for word in ("--set", each)]


def run(words: list[str], errors: Path, code: Path | None = None) -> subprocess.Popen[str]:
    """`mqframe` with `words`, of the checkout `code`; what it logs is added to the file `errors`."""
    with errors.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "mqframe", *words],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=CLEAN if code is None else CLEAN | paths_of(code),
            cwd=code,
        )


def paths_of(code: Path) -> dict[str, str]:
    """What has Python import mqframe, and all distributions of it, from the checkout `code`."""
    sources = sorted([*code.glob("packages/*/src"), *code.glob("plugins/*/src")])
    return {"PYTHONPATH": os.pathsep.join(map(str, [code, *sources]))}


def read_ready(process: subprocess.Popen[Any], errors: Path) -> None:
    """Wait until `process` says that it serves."""
    assert process.stdout is not None
    end = time.monotonic() + START_SECONDS_MAX
    readable, _, _ = select.select([process.stdout], [], [], end - time.monotonic())
    line = process.stdout.readline() if readable else ""
    assert line.startswith("ready"), f"{line!r}: {errors.read_text()[-4000:]}"
