"""Keeping a process alive that answers brokers for as long as a driver lives."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from mqframe import Admin
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger
from mqframe_spark.exact.answers import Lookup
from mqframe_spark.sink.options import SinkOptions

log = get_logger("spark")

MODULE: Final = "mqframe_spark.exact.check_back_answers"
_LEVELS: Final = 16
_started: list[subprocess.Popen[bytes]] = []
"""They live longer than this process, and are not to be mourned by it."""


class Process(NamedTuple):
    """A process of this machine. `started`: tells it from a later one with the same `pid`."""

    pid: int
    started: str
    parent: int
    name: str


def process(pid: int) -> Process | None:
    """The process `pid`; `None` when there is none, or it has ended and waits for its parent to notice."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return _asked(pid) if not Path("/proc/self/stat").exists() else None
    except ProcessLookupError:
        return None
    # The name, in parentheses, may hold anything.
    name, rest = text.partition("(")[2].rpartition(")")[::2]
    fields = rest.split()
    return None if fields[0] in "ZX" else Process(pid, fields[19], int(fields[1]), name)


def _asked(pid: int) -> Process | None:
    """As `process`, where there is no /proc."""
    command = ["ps", "-o", "ppid=,stat=,lstart=,comm=", "-p", str(pid)]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split(maxsplit=7)
    if len(words) < 8 or words[1].startswith("Z"):
        return None
    return Process(pid, " ".join(words[2:7]), int(words[0]), Path(words[7].strip()).name)


def driver() -> Process:
    """The process that stands for this driver: the nearest Java above this one, or else this one itself."""
    own = found = process(os.getpid())
    for _ in range(_LEVELS):
        if found is None or found.name == "java":
            break
        found = process(found.parent) if found.parent > 1 else None
    chosen = found or own
    assert chosen is not None  # this process lives
    return chosen


def ensure_answers(
    options: SinkOptions, root: str, group: str, topics: Iterable[str], *, anchor: Process | None = None
) -> int | None:
    """Start a process that answers for the records below `root`, unless this driver has one; gives its pid.

    `topics`: of whose brokers it is to be known, besides those that were named before. `anchor`: it ends when
    that process does; by default the `driver`.
    """
    anchor = anchor or driver()
    try:
        file = _file(options.nameserver, root, group, anchor)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return _ensure(
                options, root, group, anchor, sorted({*topics, options.topic} - {""}), file, descriptor
            )
        finally:
            os.close(descriptor)
    except OSError as problem:
        log.warning(
            "nothing answers brokers between batches: no process could be started", reason=str(problem)
        )
        return None


def lookup(options: SinkOptions) -> Lookup:
    """Finds messages by their unique keys, with a connection of its own each time: it is rarely needed."""

    def find(topic: str, unique_key: str) -> ReceivedMessage | None:
        with Admin(nameserver=options.nameserver, **options.access.client_arguments()) as admin:
            return admin.messages.by_unique_key(topic, unique_key)

    return find


def _file(nameserver: str, root: str, group: str, anchor: Process) -> Path:
    folder = Path(tempfile.gettempdir()) / f"mqframe-answers-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    text = json.dumps([nameserver, root, group, anchor.pid, anchor.started])
    return folder / hashlib.sha256(text.encode()).hexdigest()[:32]


def _ensure(
    options: SinkOptions,
    root: str,
    group: str,
    anchor: Process,
    wanted: Sequence[str],
    topics: Path,
    descriptor: int,
) -> int | None:
    known = set(os.pread(descriptor, 1 << 20, 0).decode().split())
    fresh = [topic for topic in wanted if topic not in known]
    if fresh:
        os.write(descriptor, "".join(f"{topic}\n" for topic in fresh).encode())
    os.utime(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None  # it runs, and holds the lock
    return _start(options, root, group, anchor, topics, descriptor)


def _start(
    options: SinkOptions, root: str, group: str, anchor: Process, topics: Path, descriptor: int
) -> int | None:
    given: dict[str, Any] = {
        **raw_access(options),
        "nameserver": options.nameserver,
        "group": group,
        "commitPath": root,
        "anchor": [anchor.pid, anchor.started],
        "topics": str(topics),
    }
    # The child inherits the descriptor, and with it the lock, before anybody else can take it.
    child = subprocess.Popen(
        [sys.executable, "-m", MODULE, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=(descriptor,),
        start_new_session=True,
    )
    _started.append(child)
    assert child.stdin is not None
    with child.stdin as pipe:
        pipe.write(json.dumps(given).encode())  # not on the command line, which others can read
    return child.pid


def raw_access(options: SinkOptions) -> dict[str, str]:
    """The options of access, to brokers and to object stores, as a user gives them."""
    access = options.access
    texts = {
        "accessKey": access.access_key,
        "secretKey": access.secret_key,
        "securityToken": access.security_token,
    }
    if access.tls:
        texts |= {
            "tls": "true",
            "tlsVerify": access.tls_verify,
            "tlsCaFile": access.tls_ca_file,
            "tlsCertFile": access.tls_cert_file,
            "tlsKeyFile": access.tls_key_file,
        }
    return {**options.store.raw(), **{name: text for name, text in texts.items() if text}}
