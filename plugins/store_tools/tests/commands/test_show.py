"""`mqframe store show`: places of the files, and nothing of them that a terminal obeys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_store
from command_runs import run
from mqframe_testing.manual_clock import ManualClock

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

EVIL = "\x1b]0;hijacked\x07\x1b[2J\u202e"


@pytest.fixture
def root(tmp_path: Path) -> str:
    small_store.fill(tmp_path / "store")
    return str(tmp_path / "store")


def test_from_a_key_to_its_record(root: str) -> None:
    (row,) = json.loads(run("store", "show", "key", root, "t", "k9", "--json"))
    record = json.loads(run("store", "show", "record", root, str(row["commit_log_offset"]), "--json"))
    assert (record["queue_id"], record["queue_offset"], record["body"]) == (1, 4, "9:" * 60)
    entry = json.loads(run("store", "show", "entry", root, "t", "1", "4", "--json"))
    assert entry["commit_log_offset"] == row["commit_log_offset"]
    assert run("store", "show", "key", root, "t", "none") == "the index has no such key\n"


def test_checkpoints(root: str) -> None:
    rows = json.loads(run("store", "show", "checkpoint", root, "--json"))
    assert {"file": "queue-ends", "what": "orderly", "value": True} in rows


def test_what_is_not_there_is_wrong_use(root: str) -> None:
    run("store", "show", "record", root, "99999999", code=2)
    run("store", "show", "entry", root, "none", "0", "0", code=2)
    run("store", "show", "record", str(Path(root).parent), "0", code=2)


def test_no_terminal_is_hijacked(tmp_path: Path) -> None:
    store = MessageStore.open(small_store.settings(tmp_path), ManualClock())
    host = small_store.HOST
    store.writes.put(Incoming("t", 0, EVIL.encode(), f"KEYS\x01{EVIL}\x02{EVIL}\x01x\x02", 1, host, host))
    store.dispatch.now()
    store.abandon()
    text = run("store", "show", "record", str(tmp_path), "0")
    assert "\\x1b]0;hijacked\\x07" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "\\u202e" in text
