"""`mqframe store export` and `import`: from a directory to a file and into a running broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import small_store
from command_runs import read, run
from mqframe_store_tools.commands.message_files import read_parquet


@pytest.fixture
def root(tmp_path: Path) -> str:
    small_store.fill(tmp_path / "store")
    return str(tmp_path / "store")


def test_lines_on_standard_output(root: str) -> None:
    rows = [json.loads(line) for line in run("store", "export", root, "t", "--queue", "1").splitlines()]
    assert [(row["queue_id"], row["queue_offset"]) for row in rows] == [(1, n) for n in range(30)]
    assert rows[3]["body"] == "7:" * 60
    assert rows[3]["properties"]["KEYS"] == "k7 all"


def test_a_damaged_record_leaves_no_file(root: str, tmp_path: Path) -> None:
    path = Path(root, "commitlog", f"{0:020d}")
    raw = bytearray(path.read_bytes())
    raw[120] ^= 1
    path.write_bytes(raw)
    run("store", "export", root, "t", "-o", str(tmp_path / "x.jsonl"), code=1)
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


def lines(content: bytes) -> list[int]:
    """The offsets in what an export wrote of one queue."""
    return [json.loads(line)["queue_offset"] for line in content.splitlines()]


def test_a_pipe_takes_the_messages_and_stays_one(root: str, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        content = pool.submit(path.read_bytes)
        assert read("store", "export", root, "t", "--queue", "1", "-o", str(path))["messages"] == 30
        assert lines(content.result(60)) == list(range(30))
    assert path.is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["pipe", "store"]


def test_parquet_goes_through_a_pipe(root: str, tmp_path: Path) -> None:
    path = tmp_path / "pipe.parquet"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        content = pool.submit(path.read_bytes)
        run("store", "export", root, "t", "-o", str(path))
        (tmp_path / "x.parquet").write_bytes(content.result(60))
    assert len(list(read_parquet(tmp_path / "x.parquet"))) == 60


def test_a_link_and_what_it_names_stay(root: str, tmp_path: Path) -> None:
    link = tmp_path / "latest.jsonl"
    link.symlink_to("of-today.jsonl")
    run("store", "export", root, "t", "--queue", "1", "-o", str(link))
    assert link.readlink() == Path("of-today.jsonl")
    assert lines((tmp_path / "of-today.jsonl").read_bytes()) == list(range(30))


def test_standard_output_by_its_name_is_standard_output(root: str, tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "mqframe",
        "store",
        "export",
        root,
        "t",
        "--queue",
        "1",
        "-o",
        "/dev/stdout",
    ]
    with (tmp_path / "redirected").open("wb") as file:
        subprocess.run(words, stdout=file, check=True, timeout=60)
    assert lines((tmp_path / "redirected").read_bytes()) == list(range(30))
    assert lines(subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=60).stdout) == list(
        range(30)
    )


def test_messages_are_imported_from_a_pipe(root: str, tmp_path: Path, at: str) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    run("topic", "create", "store-import-pipe", "--queues", "2")
    text = run("store", "export", root, "t").encode()
    with ThreadPoolExecutor() as pool:
        written = pool.submit(path.write_bytes, text)
        assert read("store", "import", str(path), "--topic", "store-import-pipe")["messages"] == 60
        assert written.result(60) == len(text)


def test_wrong_use(root: str, tmp_path: Path) -> None:
    run("store", "export", root, "none", code=2)
    run("store", "export", root, "t", "--queue", "9", code=2)
    run("store", "export", root, "t", "-o", str(tmp_path / "none" / "x"), code=2)
    run("store", "import", str(tmp_path / "none"), code=2)


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_a_topic_goes_to_another_broker(root: str, tmp_path: Path, at: str, name: str) -> None:
    topic, file = f"store-import-{name[2:]}", str(tmp_path / name)
    run("topic", "create", topic, "--queues", "2")
    assert read("store", "export", root, "t", "-o", file)["messages"] == 60
    assert read("store", "import", file, "--topic", topic)["messages"] == 60
    rows = read("message", "read", topic, "--limit", "100")
    found = [(row["queue"], row["offset"], row["body"], row["keys"], row["tag"]) for row in rows]
    assert sorted(found) == [
        (queue, offset, f"{2 * offset + queue}:" * 60, [f"k{2 * offset + queue}", "all"], "a")
        for queue in (0, 1)
        for offset in range(30)
    ]


def test_a_line_that_cannot_be_sent_is_named(at: str) -> None:
    run("topic", "create", "store-import-bad", "--queues", "1")
    good = b'{"body":"x","body_encoding":"text","properties":{"own":"1","TAGS":"old"},"tag":"new"}\n'
    bad = b'{"body":"x","body_encoding":"none"}\n'
    run("store", "import", "-", "--topic", "store-import-bad", data=good + bad, code=2)
    run("store", "import", "-", "--topic", "store-import-bad", data=good)
    rows = read("message", "read", "store-import-bad")
    assert [(row["body"], row["tag"]) for row in rows] == [("x", "new")] * len(rows)
