"""The process that answers brokers for as long as a driver lives."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from mqframe_spark.access import Access
from mqframe_spark.exact import answering
from mqframe_spark.exact.answering import Process, driver, ensure_answers, process
from mqframe_spark.exact.check_back_answers import parse
from mqframe_spark.exact.place import group_of
from mqframe_spark.object_store_options import ObjectStoreOptions


@pytest.fixture
def anchor() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for a driver."""
    child = subprocess.Popen(["sleep", "600"])
    yield child
    child.kill()
    child.wait()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def of(child: subprocess.Popen[bytes]) -> Process:
    found = process(child.pid)
    assert found is not None
    return found


def start(query: Any, anchor: Process, *topics: str, **change: Any) -> int | None:
    options = attrs.evolve(query.options, **change)
    return ensure_answers(options, query.place.root, group_of(options, query.place), topics, anchor=anchor)


def test_processes_and_their_ends() -> None:
    own = process(os.getpid())
    assert own is not None
    assert (own.pid, own.parent) == (os.getpid(), os.getppid())
    child = subprocess.Popen(["sleep", "600"])
    assert of(child).name == "sleep"
    assert of(child).parent == os.getpid()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process(child.pid) is None  # it has ended, though nobody has waited for it
    child.wait()
    assert process(child.pid) is None


def test_processes_where_there_is_no_proc() -> None:
    child = subprocess.Popen(["sleep", "600"])
    found = answering._asked(child.pid)
    assert found is not None
    assert (found.pid, found.parent, found.name) == (child.pid, os.getpid(), "sleep")
    child.kill()
    child.wait()
    assert answering._asked(child.pid) is None


def test_the_driver_is_the_nearest_java(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = {
        os.getpid(): Process(os.getpid(), "1", 30, "python3"),
        30: Process(30, "1", 20, "python3"),
        20: Process(20, "1", 10, "java"),
        10: Process(10, "1", 1, "java"),
    }
    monkeypatch.setattr(answering, "process", chain.get)
    assert driver() == chain[20]
    chain[20] = Process(20, "1", 1, "python3")
    assert driver() == chain[os.getpid()]


def test_it_answers_until_the_driver_is_gone(query, anchor) -> None:
    query.task(query.plan(), 0, query.rows(0))  # by a driver that then died
    query.plan()
    pid = start(query, of(anchor))
    assert pid is not None
    query.settled()
    assert query.bodies() == Counter()
    assert start(query, of(anchor)) is None
    assert query.members() == 1
    anchor.kill()
    anchor.wait()
    os.waitpid(pid, 0)
    assert query.members() == 0


def test_it_learns_of_topics(query, anchor) -> None:
    pid = start(query, of(anchor), topic="")
    assert pid is not None
    assert start(query, of(anchor), "orders", topic="") is None
    query.until(lambda: query.members() == 1)
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert query.members() == 0


def test_secrets_are_on_no_command_line(query, anchor) -> None:
    pid = start(query, of(anchor), access=Access("key-1", "secret-1"))
    assert pid is not None
    try:
        shown = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert b"secret-1" not in shown
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def test_options_go_to_the_process_and_come_back_the_same(query, tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.touch()
    access = Access("key-1", "secret-1", "token-1", tls=True, tls_verify="chain", tls_ca_file=str(ca_file))
    store = ObjectStoreOptions((("fs.s3a.endpoint", "h"), ("fs.s3a.secret.key", "secret-2")))
    raw = answering.raw_access(attrs.evolve(query.options, access=access, store=store))
    own = {"nameserver": "127.0.0.1:1", "group": "g", "commitPath": "/c"}
    given = {**raw, **own, "anchor": [5, "77"], "topics": "/t"}
    serving = parse(["-"], json.dumps(given))
    assert (serving.options.access, serving.options.store) == (access, store)
    assert (serving.root, serving.group, serving.anchor, serving.topics) == ("/c", "g", (5, "77"), "/t")


def test_a_driver_that_cannot_have_one_goes_on(query, anchor, temporary: Path, caplog) -> None:
    folder = temporary / f"mqframe-answers-{os.getuid()}"
    folder.touch()
    assert start(query, of(anchor)) is None
    assert "nothing answers brokers between batches" in caplog.text


@pytest.mark.skipif(os.getuid() != 0, reason="needs the right to give a folder away")
def test_the_folder_of_another_user_is_not_used(query, anchor, temporary: Path, caplog) -> None:
    folder = temporary / f"mqframe-answers-{os.getuid()}"
    folder.mkdir()
    os.chown(folder, 4711, 4711)
    assert start(query, of(anchor)) is None
    assert "belongs to somebody else" in caplog.text
