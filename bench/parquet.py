#!/usr/bin/env python3
"""How fast the dispatcher `parquet` lands messages, and what sends feel of it.

    parquet.py [--count 2000000] [--format parquet|delta] [--rate 1000]

A store of `count` messages of 100 B (tag, key, and what a broker adds; 8 queues) is made. A broker with the
dispatcher catches up on all of it: messages a second from the start of the broker until its cursor is behind
the last one, all 18 columns, the last file included. Then one producer sends single messages of 100 B, one
after the other, `rate` a second (0: as fast as it can): to a broker without a dispatcher, to one whose
dispatcher catches up again from the begin, and without once more. In the end all rows are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from compare_broker import used
from spark_read import TOPIC, fill

from mqframe import Admin, Message, Producer
from mqframe.store.reader import StoreReader

ALONE_SECONDS = 8.0


@contextlib.contextmanager
def server(work: pathlib.Path, dispatcher: str) -> Iterator[tuple[str, int]]:
    """A broker over the store; gives the address of its name server, and its process id."""
    config = work / "server.toml"
    lines = ["[store]", "disk_limits = false"]
    if dispatcher:
        lines += ["[broker]", 'dispatchers = ["parquet"]', "[plugins.parquet]", f'format = "{dispatcher}"']
        lines += [f'path = "{work / "lake"}"', "roll_seconds = 1"]
    config.write_text("\n".join(lines) + "\n")
    words = [
        "--nameserver-port",
        "0",
        "--broker-port",
        "0",
        "--data",
        str(work / "data"),
        "--config",
        str(config),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "mqframe", "server", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        ready = dict(word.split("=") for word in process.stdout.readline().split()[1:])
        yield ready["nameserver"], process.pid
    finally:
        process.terminate()
        process.wait(120)


class Sends:
    """Single sends, one after the other, and how long each took, s."""

    def __init__(self, nameserver: str, rate: float) -> None:
        self.producer = Producer(group="bench", nameserver=nameserver)
        self.producer.start()
        self.rate = rate
        self.seconds: list[float] = []
        for _ in range(200):
            self._send()

    def _send(self) -> float:
        started = time.perf_counter()
        self.producer.send(Message("sends", b"x" * 100, tag="T", keys=["k1"]))
        return time.perf_counter() - started

    def run(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while (now := time.perf_counter()) < until:
            self.seconds.append(self._send())
            if self.rate:
                time.sleep(max(0.0, now + 1 / self.rate - time.perf_counter()))

    def told(self) -> str:
        cuts = statistics.quantiles(self.seconds, n=100)
        return (
            f"p50 {cuts[49] * 1e3:6.3f} ms  p99 {cuts[98] * 1e3:6.3f} ms  "
            f"max {max(self.seconds) * 1e3:7.2f} ms  {len(self.seconds)} sends"
        )


def alone(work: pathlib.Path, rate: float) -> None:
    with server(work, "") as (nameserver, _):
        sends = Sends(nameserver, rate)
        sends.run(ALONE_SECONDS)
        print(f"sends, no dispatcher:             {sends.told()}", flush=True)
        sends.producer.stop()


def cpu_of_children(pid: int) -> float:
    """Seconds that the children of process `pid`, threads included, have been on a core."""
    children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return sum(used(int(number)) for child in children for number in child.read_text().split())


def catching_up(work: pathlib.Path, rate: float | None, form: str, end: int, count: int) -> None:
    """From the first message to log offset `end`; `rate` None: nothing is sent meanwhile."""
    shutil.rmtree(work / "lake", ignore_errors=True)
    (work / "data/store/config/dispatchers.json").unlink(missing_ok=True)
    (work / "data/store/config/dispatchers.json.bak").unlink(missing_ok=True)
    started = time.perf_counter()
    with server(work, form) as (nameserver, pid), Admin(nameserver=nameserver) as admin:
        [address] = admin.cluster.masters().values()
        sends = None if rate is None else Sends(nameserver, rate)
        while int(admin.brokers.runtime(address)["dispatcher.parquet.cursor"]) < end:
            if sends is None:
                time.sleep(0.1)
            else:
                sends.run(0.5)
        seconds, busy = time.perf_counter() - started, cpu_of_children(pid)
        if sends is not None:
            print(f"sends, while it catches up:       {sends.told()}", flush=True)
            sends.producer.stop()
    what = "nothing sent" if rate is None else "while sending"
    print(f"landed, {form}, {what}: {count / seconds:9.0f} msg/s  ({seconds:.1f} s; its process was", end=" ")
    print(f"on a core for {busy:.1f} s: {count / busy:.0f} msg/s of that)", flush=True)
    found = rows(work, form)
    assert found == count, found
    print(f"rows read back with pyarrow:      {found}")


def rows(work: pathlib.Path, form: str) -> int:
    """Rows of the topic, as pyarrow counts them."""
    folder = work / "lake" / TOPIC
    if form == "delta":
        from deltalake import DeltaTable

        return int(DeltaTable(folder).to_pyarrow_dataset().count_rows())
    import pyarrow.dataset as ds

    return int(ds.dataset(folder, partitioning="hive").count_rows())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2_000_000)
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet")
    parser.add_argument("--rate", type=float, default=1000.0)
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        asyncio.run(fill(work / "data/store", arguments.count))
        end = StoreReader(work / "data/store").log_range()[1]
        catching_up(work, None, arguments.format, end, arguments.count)
        alone(work, arguments.rate)
        catching_up(work, arguments.rate, arguments.format, end, arguments.count)
        alone(work, arguments.rate)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
