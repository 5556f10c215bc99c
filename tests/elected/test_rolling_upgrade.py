"""A cluster is upgraded while it works, as docs/howto/rolling_upgrade.md has it; every message is counted.

    pytest tests/elected/test_rolling_upgrade.py -m long

runs brokers, a name server and clients of an earlier version beside those of this one.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from elected_group import CLEAN, ElectedGroup, Member, SharedFile, paths_of
from own_programs import missing
from real_time import until
from steady_load import TOPIC, Sender, consuming, rests, sending, stored

from mqframe import AnswerError

ROOT = Path(__file__).parents[2]
EARLIER = "d0ebaced8fa15b5772390b654298f8d6044a3f69"
"""A commit before leaders could hand over their lead."""
SETTINGS = ("election.first_wait_ms=500", "replication.tables_interval_ms=1000")
SENT_BY_OTHERS = """
import sys, threading
from mqframe import ClientSettings, Message, MqframeError, Producer
ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ends.set()), daemon=True).start()
often = ClientSettings(route_poll_seconds=1)
with Producer("earlier", nameserver=sys.argv[1], client=often) as producer:
    number = 0
    while not ends.is_set():
        body = f"earlier-{number}"
        number += 1
        try:
            status = producer.send(Message(sys.argv[2], body.encode())).status.name
        except MqframeError:
            status = "FAILED"
        print(status, body, flush=True)
        ends.wait(0.005)
"""


def checkout(folder: Path) -> Path:
    """The code of `EARLIER`; the test is skipped where the history does not reach back to it."""
    asked = ["git", "-C", str(ROOT), "archive", "--format=tar", EARLIER, "mqframe", "packages", "plugins"]
    try:
        made = subprocess.run(asked, capture_output=True, check=False)
    except OSError as problem:
        missing(f"not installed: git ({problem})")
    if made.returncode:
        missing(f"the history of this checkout lacks {EARLIER}: fetch all of it (git fetch --unshallow)")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


class EarlierSender:
    """A producer of the checkout `code`, in a process of its own, while it is entered."""

    def __init__(self, code: Path, nameserver: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SENT_BY_OTHERS, nameserver, TOPIC],
                stdin=subprocess.PIPE, stdout=out, env=CLEAN | paths_of(code), cwd=code,
            )  # fmt: skip

    @property
    def acknowledged(self) -> list[bytes]:
        """The bodies that were answered SEND_OK so far."""
        lines = [
            line.split() for line in self._log.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")
        ]
        return [line[1] for line in lines if line[0] == b"SEND_OK"]

    def stop(self) -> None:
        """Begin no further send, and wait for the last one."""
        self._process.communicate(timeout=120)
        assert self._process.returncode == 0


@contextmanager
def earlier_sender(code: Path, nameserver: str, log: Path) -> Iterator[EarlierSender]:
    sender = EarlierSender(code, nameserver, log)
    try:
        yield sender
    finally:
        sender.stop()


def renew(member: Member, group: ElectedGroup) -> None:
    """End `member` in order, start the code of this checkout in its place, and wait until it is in sync."""
    assert member.end() == 0
    member.code = None
    member.start()
    member.ready()
    until(lambda: group.in_sync() == (1, 2, 3))


def upgrade(group: ElectedGroup, senders: Sequence[Sender | EarlierSender]) -> None:
    """The page's procedure; after each step some more is sent."""

    def goes_on() -> None:
        goals = [len(sender.acknowledged) + 20 for sender in senders]
        until(lambda: all(len(s.acknowledged) >= goal for s, goal in zip(senders, goals, strict=True)))

    goes_on()
    group.code = None
    group.restart_names()
    goes_on()
    leader = group.leader()
    for follower in group.others(leader):
        renew(follower, group)
        goes_on()
    if leader.code is None:
        made = group.admin.replicas.hand_over("group-a")
        assert made.before == leader.number != made.leader
        goes_on()
    else:
        # It knows no such request: what gives the lead back is its end.
        with pytest.raises(AnswerError, match="not support"):
            group.admin.replicas.hand_over("group-a")
        assert group.leader() is leader
    until(lambda: group.in_sync() == (1, 2, 3))
    renew(leader, group)
    goes_on()
    assert group.leader() is not leader


def check(found: Counter[bytes], consumed: Counter[bytes], sender: Sender | EarlierSender) -> None:
    """All that was acknowledged is stored, and came; what a producer had no reason to send again is there
    once."""
    acknowledged = sender.acknowledged
    assert [body for body in acknowledged if not found[body]] == []
    assert [body for body in acknowledged if not consumed[body]] == []


def test_a_cluster_is_renewed_under_load_and_every_message_is_there_once(tmp_path: Path) -> None:
    with ElectedGroup(tmp_path, SharedFile(tmp_path), *SETTINGS) as group:
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        sender = Sender(group.nameserver, pause_seconds=0.005)
        with consuming(group.nameserver) as consumed, sending(sender):
            upgrade(group, [sender])
            sender.stop()
            assert rests([sender])
            until(lambda: set(sender.acknowledged) <= set(consumed))
        found = stored(group.nameserver)
        check(found, consumed, sender)
        assert [found[body] for body in sender.acknowledged] == [1] * len(sender.acknowledged)
        assert set(found) <= {*sender.acknowledged, *sender.failed}


@pytest.mark.long
def test_an_earlier_version_is_renewed_under_load_of_both_versions(tmp_path: Path) -> None:
    code = checkout(tmp_path / "earlier")
    group = ElectedGroup(tmp_path, SharedFile(tmp_path), *SETTINGS)
    group.code = code
    for member in group.members.values():
        member.code = code
    with group:
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        sender = Sender(group.nameserver, pause_seconds=0.005)
        log = tmp_path / "earlier.txt"
        with consuming(group.nameserver) as consumed:
            with sending(sender), earlier_sender(code, group.nameserver, log) as earlier:
                upgrade(group, [sender, earlier])
            until(lambda: {*sender.acknowledged, *earlier.acknowledged} <= set(consumed))
        found = stored(group.nameserver)
        check(found, consumed, sender)
        check(found, consumed, earlier)
        # What is there twice was tried again: at the end of the leader that could not hand over.
        twice = [body for body, count in found.items() if count > 1]
        assert len(twice) <= 2, twice
        assert max(found.values()) <= 2
