#!/usr/bin/env python3
"""What it costs to read records from store files into Arrow batches, without Spark: in one process.

    spark_decode.py [--count 400000] [--data uniform,varying] [--rounds 5]

Prints microseconds of processor time a message, the best of the rounds, by data set and columns.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import resource
import tempfile
import time

from mqframe_spark.source.file_reading import FileSpanReader
from mqframe_spark.source.options import SourceOptions, parse_options
from mqframe_spark.source.positions import Span
from spark_data import DATA, QUEUES, TOPIC, fill

from mqframe.core.messages.message import MessageQueue
from mqframe.store.reader import StoreReader

SIX = "queue_id,queue_offset,msg_id,body,born_timestamp,store_timestamp"
COLUMNS = {"ids, offsets, times, bodies": SIX, "offsets, times": "queue_offset,store_timestamp", "all": ""}


def read(options: SourceOptions, spans: list[Span]) -> int:
    """Rows of all spans; each batch goes before the next is made, as it does where Spark takes them."""
    rows = 0
    for span in spans:
        for batch in FileSpanReader(options, span).batches():
            rows += batch.num_rows
    return rows


def measure(folder: pathlib.Path, count: int, rounds: int, data: str) -> None:
    reader = StoreReader(folder)
    queues = [(MessageQueue(TOPIC, "bench", number), number) for number in range(QUEUES)]
    spans = [Span(queue, *reader.queue_range(TOPIC, number)) for queue, number in queues]
    for name, columns in COLUMNS.items():
        given = {"mode": "files", "path": f"bench={folder}", "topic": TOPIC}
        options = parse_options(given | ({"columns": columns} if columns else {}))
        best, faults = float("inf"), 0
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            started = time.process_time()
            assert read(options, spans) == count
            took = (time.process_time() - started) / count * 1e6
            if took < best:
                best, faults = took, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(f"{data:8s} {name:28s} {best:6.3f} µs a message, {faults:7,d} page faults", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for data in arguments.data.split(","):
        with tempfile.TemporaryDirectory(prefix="mqframe-bench") as work:
            folder = pathlib.Path(work, "store")
            asyncio.run(fill(folder, arguments.count, data))
            measure(folder, arguments.count, arguments.rounds, data)


if __name__ == "__main__":
    main()
