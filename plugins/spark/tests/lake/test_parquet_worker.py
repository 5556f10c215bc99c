"""The conversation of a broker and the process that makes its Parquet files, without a process."""

import io
import json
from pathlib import Path
from typing import Any

import attrs
from lake_log import ALL, Log, stored
from mqframe_spark.durable_file import only_one
from mqframe_spark.lake import parquet_worker
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.lake.parquet_worker import serve


def opening(root: Path, **options: Any) -> dict[str, Any]:
    """The first line, as the dispatcher writes it."""
    fields = attrs.asdict(ParquetOptions(**options))
    return {"options": fields, "data_directory": str(root), "broker": "broker-a"}


def take(log: Log, first: int, last: int) -> dict[str, Any]:
    folder = str(log.store.folder / "commitlog")
    return {"take": [folder, log.store.LOG_BYTES, log.ends[first], log.ends[last]]}


def answers(*commands: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said to `commands`, each a line."""
    said = io.BytesIO()
    serve(io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in commands)), said)
    lines = said.getvalue().split(b"\n")
    assert lines.pop() == b"", "the last line has no end"
    return [json.loads(line) for line in lines]


def test_every_command_is_answered_with_how_far_things_are(tmp_path, log) -> None:
    commands = [take(log, 0, 6), {"roll": True}, take(log, 6, 12), {"finish": True}]
    assert answers(opening(tmp_path), *commands) == [
        {"durable": 0, "taken": 0},
        {"durable": 0, "taken": log.ends[6]},
        {"durable": 0, "taken": log.ends[6]},
        {"durable": 0, "taken": log.ends[12]},
        {"durable": log.ends[12], "taken": log.ends[12]},
    ]
    assert stored(tmp_path) == ALL


def test_without_a_word_to_finish_only_what_was_due_is_in_files(tmp_path, log) -> None:
    said = answers(opening(tmp_path, roll_rows=2), take(log, 0, 12))
    assert said[1] == {"durable": log.ends[8], "taken": log.ends[12]}
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


def test_options_come_as_they_were_set(tmp_path, log) -> None:
    elsewhere = tmp_path / "elsewhere"
    first = opening(tmp_path, topics=("refunds",))
    first["options"] |= {"path": str(elsewhere / "parquet")}
    answers(first, take(log, 0, 12), {"finish": True})
    assert set(stored(elsewhere)) == {"refunds/day=2023-11-14", "refunds/day=2023-11-15"}
    assert stored(tmp_path) == {}


def test_a_command_that_fails_is_answered_and_may_come_again(tmp_path, log) -> None:
    nowhere = {"take": [str(tmp_path / "nowhere"), log.store.LOG_BYTES, 0, log.ends[1]]}
    started, failed, done = answers(opening(tmp_path), nowhere, take(log, 0, 1))
    assert started == {"durable": 0, "taken": 0}
    assert failed["error"].startswith("FileNotFoundError: ")
    assert "nowhere" in failed["error"]
    assert done == {"durable": 0, "taken": log.ends[1]}


def test_what_cannot_begin_says_why_and_ends(tmp_path, log, monkeypatch) -> None:
    [failed] = answers(opening(tmp_path / "nowhere"), take(log, 0, 1))
    assert failed["error"].startswith("FileNotFoundError: ")
    monkeypatch.setattr(parquet_worker, "FORMER_SECONDS", 0.0)
    with only_one(tmp_path, 0.0):
        [failed] = answers(opening(tmp_path), take(log, 0, 1))
    assert failed["error"] == f"RetryError: another process still makes files of the store in {tmp_path}"


def test_it_ends_with_its_broker(tmp_path, log) -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    first = json.dumps(opening(tmp_path)).encode() + b"\n"
    serve(io.BytesIO(first + b"never read"), Gone())
    with only_one(tmp_path, 0.0):
        pass  # it keeps nobody else off
    assert stored(tmp_path) == {}
