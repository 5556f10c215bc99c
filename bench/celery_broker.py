"""Celery's tasks per second over mqframe and over Redis: sent by one process, done by one solo worker.

    uv run --with redis python bench/celery_broker.py --tasks 5000 --rounds 3

Needs `redis-server`. Both are measured in turns; a task does nothing, and has no result.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqframe_testing.server_process import ServerProcess

TASKS = """
import os, time
from celery import Celery
app = Celery("bench", broker=os.environ["BENCH_BROKER"])
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True,
                worker_prefetch_multiplier=64)
LAST, FOLDER = int(os.environ["BENCH_TASKS"]) - 1, os.environ["BENCH_FOLDER"]

@app.task(acks_late=bool(os.environ.get("BENCH_ACKS_LATE")))
def nothing(number, sent):
    if number in (0, LAST):
        with open(f"{FOLDER}/{number}", "w") as file:
            file.write(f"{sent} {time.time()}")
"""


@contextmanager
def redis() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        # As durable as mqframe's broker by default: written at once, flushed every second or sooner.
        command = ["redis-server", "--port", str(port), "--dir", folder, "--appendonly", "yes", "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.05)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait()


@contextmanager
def mqframe() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder)) as server:
        yield f"mqframe://{server.nameserver}"


def measure(url: str, tasks: int, acks_late: bool) -> tuple[float, float, float]:
    """Tasks sent and done a second, and ms from a lone `delay` to its task (median)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_tasks.py").write_text(TASKS)
        environment = {**os.environ, "PYTHONPATH": folder, "BENCH_BROKER": url, "BENCH_FOLDER": folder}
        environment |= {"BENCH_TASKS": str(tasks), "BENCH_ACKS_LATE": "1" if acks_late else ""}
        sender = (
            "import time\nfrom bench_tasks import *\nnothing.delay(-1, 0)\nbegan = time.perf_counter()\n"
            f"for n in range({tasks}): nothing.delay(n, 0)\nprint({tasks} / (time.perf_counter() - began))"
        )
        told = subprocess.run(
            [sys.executable, "-c", sender], env=environment, capture_output=True, check=True
        )
        arguments = ["-A", "bench_tasks", "worker", "-P", "solo", "-l", "ERROR", "--without-mingle",
                     "--without-gossip", "--without-heartbeat"]  # fmt: skip
        worker = subprocess.Popen([sys.executable, "-m", "celery", *arguments], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            first, last = Path(folder, "0"), Path(folder, str(tasks - 1))
            until(last)
            done = (tasks - 1) / (moments(last)[1] - moments(first)[1])
            latency = alone(environment, first)
        finally:
            worker.terminate()
            worker.wait()
    return float(told.stdout), done, latency


def alone(environment: dict[str, str], first: Path) -> float:
    """One task after the other, ms."""
    lone = (
        "import time, os, pathlib\nfrom bench_tasks import *\nfirst = pathlib.Path(FOLDER, '0')\n"
        "for _ in range(30):\n"
        "    first.unlink(missing_ok=True)\n    nothing.delay(0, time.time())\n"
        "    while not first.exists() or not first.read_text(): time.sleep(0.001)\n"
        "    a, b = map(float, first.read_text().split())\n    print((b - a) * 1000)"
    )
    said = subprocess.run([sys.executable, "-c", lone], env=environment, capture_output=True, check=True)
    return statistics.median(map(float, said.stdout.split()))


def until(file: Path) -> None:
    while not file.exists() or len(file.read_text().split()) < 2:
        time.sleep(0.05)


def moments(file: Path) -> tuple[float, float]:
    sent, done = map(float, file.read_text().split())
    return sent, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--acks-late", action="store_true")
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {"redis": [], "mqframe": []}
    for _ in range(options.rounds):
        for name, serve in (("redis", redis), ("mqframe", mqframe)):
            with serve() as url:
                found[name].append(measure(url, options.tasks, options.acks_late))
    for name, rows in found.items():
        sent, done, latency = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name}: {sent:.0f} sent/s, {done:.0f} done/s, {latency:.1f} ms alone")


if __name__ == "__main__":
    main()
