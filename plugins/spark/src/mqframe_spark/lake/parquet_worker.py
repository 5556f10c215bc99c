"""The process in which Parquet files are made: `python -m mqframe_spark.lake.parquet_worker`.

One JSON object a line comes in and one goes out. First what it is to work on: `options`, `data_directory`,
`broker`. Then {"take": [directory, file bytes, start, end]}, {"roll": true} or {"finish": true}, each
answered by {"durable": offset, "taken": offset}, or by {"error": text} when it failed and may be asked again.
The end of the input is the end of the process: when a broker dies, so does this.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from mqframe.core.errors import MqframeError
from mqframe_spark.durable_file import only_one
from mqframe_spark.lake.caretaker import Caretaker
from mqframe_spark.lake.formats import make_landing, make_upkeep, root_of
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.lake.parquet_writer import ParquetWriter

NICE = 10
"""The broker's own work comes first."""
FORMER_SECONDS = 30.0
"""How long the process of a broker that was killed is waited for."""


def serve(commands: BinaryIO, answers: BinaryIO) -> None:
    """Do as `commands` say until they end."""
    first = msgspec.json.decode(commands.readline())
    fields = first["options"]
    path = fields.pop("path")
    options = ParquetOptions(
        **{**fields, "topics": tuple(fields["topics"])}, path=Path(path) if path else None
    )
    directory, broker = Path(first["data_directory"]), first["broker"]
    try:
        with only_one(directory, FORMER_SECONDS):
            landing = make_landing(options, directory, broker)
            upkeep = make_upkeep(options, root_of(options, directory))
            writer = ParquetWriter(options, landing, broker)
            _serve(writer, Caretaker(upkeep, options), commands, answers)
    except BrokenPipeError:
        return  # the broker is gone; its successor starts another process
    except (OSError, MqframeError) as problem:
        _say(answers, _failure(problem))


def _serve(writer: ParquetWriter, caretaker: Caretaker, commands: BinaryIO, answers: BinaryIO) -> None:
    _say(answers, {"durable": 0, "taken": 0})
    for line in commands:
        command = msgspec.json.decode(line)
        _say(answers, _do(writer, command))
        if "finish" not in command:
            caretaker.step()


def _do(writer: ParquetWriter, command: dict[str, Any]) -> dict[str, Any]:
    try:
        if "take" in command:
            directory, file_bytes, start, end = command["take"]
            durable = writer.take(Path(directory), file_bytes, start, end)
        else:
            durable = writer.roll() if "roll" in command else writer.finish()
        return {"durable": durable, "taken": writer.taken_end}
    except (OSError, MqframeError) as problem:
        return _failure(problem)


def _failure(problem: Exception) -> dict[str, Any]:
    return {"error": f"{type(problem).__name__}: {problem}"}


def _say(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")
    answers.flush()


def main() -> None:
    """Serve the broker at the other end of the pipes."""
    os.nice(NICE)
    # Nothing but answers may get into the pipe; logs go where the broker's errors go.
    with os.fdopen(os.dup(1), "wb", buffering=0) as pipe:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, pipe)


if __name__ == "__main__":
    main()
