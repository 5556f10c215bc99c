"""`mqframe store`: damage is listed, a stopped store is checked, a loss has to be accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import run
from indexed import small_index
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.messages.addresses import encode_host
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

HOST = encode_host("127.0.0.1:1")
SMALL = ("--set", "store.commit_log_file_bytes=8192", "--set", "store.queue_file_bytes=2000",
         "--set", "index.slots=10", "--set", "index.entries=100")  # fmt: skip


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, list[int]]:
    """A store of 100 messages in topic t, killed; where its records start."""
    root = tmp_path / "store"
    settings = StoreSettings(directory=root, commit_log_file_bytes=8192, queue_file_bytes=2000)
    store = MessageStore.open(settings, ManualClock(), open_index=small_index(10, 100))
    incoming = [Incoming("t", 0, b"%d" % n * 50, f"KEYS\x01k{n}\x02", 1, HOST, HOST) for n in range(100)]
    places = [store.writes.put(each).commit_log_offset for each in incoming]
    store.dispatch.now()
    store.abandon()
    return root, places


def spoil(root: Path, place: int) -> None:
    path = root / "commitlog" / f"{place - place % 8192:020d}"
    raw = bytearray(path.read_bytes())
    raw[place % 8192 + 100] ^= 1
    path.write_bytes(raw)


def test_a_sound_store(killed) -> None:
    root, _ = killed
    text = run("store", "recover", str(root), *SMALL)
    assert text.startswith("100 records checked, the log ends at offset ")
    assert text.endswith("all of them are sound\n")
    assert run("store", "damage", str(root)) == "nothing was ever set aside\n"
    assert json.loads(run("store", "recover", str(root), *SMALL, "--json")) == []


def test_damage_is_set_aside_and_listed(killed) -> None:
    root, places = killed
    spoil(root, places[30])
    (row,) = json.loads(run("store", "recover", str(root), *SMALL, "--json"))
    assert (row["start"], row["end"], row["looks"]) == (places[30], places[31], "damaged")
    assert (row["messages"], row["queues"]) == (1, "t:0:30-30")
    assert json.loads(run("store", "damage", str(root), "--json")) == [row]
    assert (root / "quarantine" / row["copy"]).stat().st_size == places[31] - places[30]
    assert json.loads(run("store", "recover", str(root), *SMALL, "--json")) == []


def test_damage_anywhere_is_found_after_an_orderly_stop(killed) -> None:
    root, places = killed
    run("store", "recover", str(root), *SMALL)
    assert not (root / "abort").exists()
    spoil(root, places[0])
    (row,) = json.loads(run("store", "recover", str(root), *SMALL, "--json"))
    assert row["queues"] == "t:0:0-0"


def test_a_loss_has_to_be_accepted(killed) -> None:
    root, places = killed
    (root / "commitlog" / f"{8192:020d}").unlink()
    run("store", "recover", str(root), *SMALL, code=1)
    (row,) = json.loads(run("store", "recover", str(root), "--accept-loss", *SMALL, "--json"))
    lost = [n for n, place in enumerate(places) if 8192 <= place < 16384]
    assert row["queues"] == f"t:0:{lost[0]}-{lost[-1]}"


def test_a_store_of_another_size_is_left_alone(killed) -> None:
    root, _ = killed
    run("store", "recover", str(root), code=1)
    assert (root / "abort").exists()


def test_a_check_of_a_sound_store_and_of_a_damaged_one(killed) -> None:
    root, places = killed
    run("store", "recover", str(root), *SMALL)
    assert run("store", "check", str(root)).endswith("nothing is damaged\n")
    spoil(root, places[30])
    assert "no sound record (damaged)" in run("store", "check", str(root), code=1)
    found = json.loads(run("store", "check", str(root), "--json", code=1))
    assert found["records"] == 99
    assert found["total"] == len(found["findings"])
    assert found["findings"][0]["file"] == f"commitlog/{places[30] - places[30] % 8192:020d}"
    assert found["findings"][0]["offset"] == places[30] % 8192


def test_what_is_no_store_is_wrong_use(tmp_path) -> None:
    for command in ("check", "rebuild"):
        run("store", command, str(tmp_path), code=2)


def test_queues_and_index_are_built_again(killed) -> None:
    root, _ = killed
    run("store", "recover", str(root), *SMALL)
    (queue_file,) = (root / "consumequeue/t/0").iterdir()
    queue_file.write_bytes(bytes(queue_file.stat().st_size))
    run("store", "check", str(root), code=1)
    row = json.loads(run("store", "rebuild", str(root), "--json"))
    assert (row["records"], row["queues"], row["damaged"]) == (100, 1, [])
    assert (Path(row["kept"]) / "consumequeue/t/0" / queue_file.name).exists()
    assert run("store", "check", str(root)).endswith("nothing is damaged\n")
