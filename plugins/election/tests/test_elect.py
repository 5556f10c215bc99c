"""`mqframe replica status` and `elect` of an elected group, in processes of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import read, run
from elected_group import ElectedGroup, SharedFile
from real_time import until

from mqframe import Message, Producer


def at_a_terminal(answer: str, *words: str) -> tuple[int, str]:
    """The exit code of `mqframe` with `words`, and what it says to a person who answers with `answer`."""
    there, here = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqframe", *words],
            stdin=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.write(there, f"{answer}\n".encode())
        _, said = process.communicate(timeout=120)
    finally:
        os.close(there)
        os.close(here)
    return process.returncode, said


def test_a_broker_that_was_not_in_sync_leads_by_an_operators_word_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = ("election.lease_ms=2000", "election.renew_ms=600", "election.margin_ms=400")
    with ElectedGroup(tmp_path, SharedFile(tmp_path), *times, count=2) as group:
        monkeypatch.setenv("NAMESRV_ADDR", group.nameserver)
        leader = group.leader()
        (other,) = group.others(leader)
        until(lambda: group.in_sync() == (1, 2))
        until(lambda: [row["behind_bytes"] for row in read("replica", "status")] == [None, 0])
        first, second = read("replica", "status")
        assert (first["role"], first["state"], first["epoch"]) == ("LEADER", "in sync: 1 2", 1)
        assert (second["role"], second["id"], second["epoch"]) == ("FOLLOWER", other.number, 1)
        assert second["state"].startswith("follows ")
        run("replica", "elect", "group-a", str(other.number), "--yes", code=3)
        run("replica", "elect", "group-a", "7", code=2)

        other.kill()
        until(lambda: group.in_sync() == (leader.number,))
        with Producer("p", nameserver=group.nameserver) as producer:
            producer.send(Message("lost", b"acknowledged by one"))
        leader.kill()
        other.start()
        other.ready()

        def waits() -> bool:
            rows = read("replica", "status")
            return any("force an election" in row["state"] for row in rows)

        until(waits)
        run("replica", "elect", "group-a", str(other.number), code=2)
        told = group.admin.replicas.force_election("group-a", other.number)
        assert (told.epoch, told.members) == (1, (leader.number,))
        assert group.leaders(other) == []
        code, said = at_a_terminal("n", "replica", "elect", "group-a", str(other.number))
        assert (code, said.endswith("mqframe: nothing was changed\n")) == (1, True), said
        assert group.leaders(other) == []
        code, said = at_a_terminal("y", "replica", "elect", "group-a", str(other.number))
        assert code == 0, said
        assert f"Let group-a {other.number} lead, and lose the rest? [y/N]:" in said
        assert group.leader(other).number == other.number
        # The one that is gone is shown, too, with no role.
        until(lambda: [row["role"] for row in read("replica", "status")] == ["LEADER", ""])
