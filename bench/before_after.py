#!/usr/bin/env python3
"""Two checkouts of this project side by side, in turns: what a change costs.

    before_after.py BEFORE [AFTER] [--rounds 5] [--parts append,client,broker,start] [--clients submit,…]

BEFORE and AFTER (this checkout unless said otherwise) are folders that hold a clone with its `.venv`.
Prints both medians of each figure, the ratio after / before, and that of the best of each, which other load
on the machine disturbs least. `append` is `store_append.py`: processor time of the store for a message.
`client` is `python_client.py` of each checkout against its own server: messages a second, and processor
time of the client. `broker` drives both servers with the same Java client (needs java, javac and mvn):
processor time of the server for a message; `pipelined` does so with plain frames, which leave in windows and
come in the same pieces each time. `start`: what the command, the library and a server take until they are
there, and the memory of that server. Rates are called so, more is better; other units stand beside names.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pipelined
from compare_broker import MODES, children_seconds, class_path, free_ports, measure, wait

HERE = pathlib.Path(__file__).resolve().parent
CLIENT_PARTS = ("awaited", "blocking", "concurrent", "submit", "submit_blocking", "consume32", "ordered32")
WINDOWS = {1024: 40, 100: 400, 16: 1200}
"""Sends that leave at once: how often they do in a round."""

Figures = Iterator[tuple[str, float]]


class Server(NamedTuple):
    """A running `mqframe server`, where its name server answers, and the port of its broker."""

    process: subprocess.Popen[bytes]
    address: str
    broker_port: int

    def processor_seconds(self) -> float:
        """What its threads have run until now."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks.iterdir()) / 1e9

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


class Checkout:
    """One of the two clones: starts what is in it with its own interpreter."""

    def __init__(self, folder: pathlib.Path, scratch: pathlib.Path) -> None:
        self.folder = folder
        self.python = str(folder / ".venv/bin/python")
        self.scratch = scratch
        scratch.mkdir()

    def run(self, *command: str) -> str:
        script, *arguments = command
        done = subprocess.run(
            [self.python, str(self.folder / "bench" / script), *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def seconds(self, *command: str) -> float:
        """How long a program of it runs, elapsed."""
        began = time.perf_counter()
        subprocess.run([self.python, *command], cwd=self.scratch, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    def starting(self, name: str, stdout: int) -> tuple[Server, int]:
        """A server that may not be ready yet, and the port of its name server. `stdout`: as for `Popen`."""
        name_port, broker_port = free_ports()
        command = [self.python, "-m", "mqframe", "server", "--nameserver-port", str(name_port)]
        command += ["--broker-port", str(broker_port), "--data", str(self.scratch / name)]
        process = subprocess.Popen(command, cwd=self.folder, stdout=stdout, stderr=subprocess.DEVNULL)
        return Server(process, f"127.0.0.1:{name_port}", broker_port), name_port

    def server(self, name: str) -> Server:
        started, name_port = self.starting(name, subprocess.DEVNULL)
        wait(name_port, started.process)
        wait(started.broker_port, started.process)
        return started


def append(checkout: Checkout) -> Figures:
    """Processor time of the store for a message."""
    text = checkout.run("store_append.py", "--directory", str(checkout.scratch))
    for found in re.finditer(r"^(.+?)\s+[\d,]+/s elapsed.*?([\d.]+) us each$", text, re.MULTILINE):
        yield f"store: {found[1]}, us", float(found[2])


def client(checkout: Checkout, part: str) -> Figures:
    """Rate and processor time of one way to send or consume, against a server of the same checkout."""
    server = checkout.server("client")
    try:
        # What consumes needs something to consume.
        if part.startswith(("consume", "ordered")):
            part = f"submit,{part}"
        before = children_seconds()
        text = checkout.run("python_client.py", "--only", part, "--nameserver", server.address)
        seconds = children_seconds() - before
    finally:
        server.stop()
        shutil.rmtree(checkout.scratch / "client")
    what, count, rate = re.findall(r"^(.+?)\s+n=\s*(\d+)\s+(\d+) msg/s", text, re.MULTILINE)[-1]
    yield f"client: {what}, rate", float(rate)
    if "," not in part:
        yield f"client: {what}, us", seconds * 1e6 / int(count)


def broker(server: Server, jars: str, mode: str, turn: int) -> Figures:
    """Processor time of the server for a message that the Java client sends or consumes."""
    before = server.processor_seconds()
    rate, _, line = measure(jars, mode, server.address, turn)
    spent = server.processor_seconds() - before
    count = re.search(r" n=(\d+)", line)
    if not rate or count is None:
        sys.exit(f"the Java client failed: {line}")
    yield f"broker: {mode}, us", spent * 1e6 / int(count[1])


def pipelined_sends(checkout: Checkout) -> Figures:
    """Processor time of a new server for a send, some of which come at once.

    Servers of one checkout differ by some hundredths from start to start.
    """
    server = checkout.server("pipelined")
    try:
        with socket.create_connection(("127.0.0.1", server.broker_port)) as connection:
            for width, times in WINDOWS.items():
                window = pipelined.window_of(width)
                for _ in range(times // 4):
                    pipelined.send(connection, window, width)
                before = server.processor_seconds()
                for _ in range(times):
                    pipelined.send(connection, window, width)
                spent = server.processor_seconds() - before
                yield f"broker: {width} sends at once, us", spent * 1e6 / (width * times)
    finally:
        server.stop()
        shutil.rmtree(checkout.scratch / "pipelined")


def start(checkout: Checkout) -> Figures:
    """Elapsed time until something is there, Python's own start with it."""
    yield "start: mqframe --help, ms", checkout.seconds("-m", "mqframe", "--help") * 1e3
    yield "start: mqframe.Producer, ms", checkout.seconds("-c", "import mqframe; mqframe.Producer") * 1e3
    began = time.perf_counter()
    server, _ = checkout.starting("start", subprocess.PIPE)
    try:
        assert server.process.stdout is not None
        if not any(line.startswith(b"ready") for line in server.process.stdout):
            sys.exit(f"the server of {checkout.folder} did not start")
        yield "start: a server is ready, ms", (time.perf_counter() - began) * 1e3
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        resident = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        assert resident is not None
        yield "start: its memory, MiB", int(resident[1]) / 1024
    finally:
        server.stop()
        shutil.rmtree(checkout.scratch / "start")


def in_turns(
    pair: tuple[Checkout, Checkout], turn: int, work: Callable[[Checkout], Figures], table: Table
) -> None:
    """Both checkouts, in an order that changes from turn to turn."""
    for checkout in pair[:: 1 if turn % 2 == 0 else -1]:
        for name, value in work(checkout):
            table[name][pair.index(checkout)].append(value)


Table = dict[str, tuple[list[float], list[float]]]


def compare(
    pair: tuple[Checkout, Checkout], parts: set[str], modes: list[str], clients: list[str], rounds: int
) -> Table:
    table: Table = defaultdict(lambda: ([], []))
    for turn in range(rounds):
        if "append" in parts:
            in_turns(pair, turn, append, table)
        if "pipelined" in parts:
            in_turns(pair, turn, pipelined_sends, table)
        if "start" in parts:
            in_turns(pair, turn, start, table)
        for part in clients if "client" in parts else ():
            in_turns(pair, turn, lambda checkout, part=part: client(checkout, part), table)  # type: ignore[misc]
    if "broker" in parts:
        jars = class_path()
        servers = {checkout: checkout.server("broker") for checkout in pair}
        try:
            for server in servers.values():  # warm both, and fill the topic that `consume` reads
                list(broker(server, jars, "batch", 0))
            for turn in range(rounds):
                for mode in modes:
                    in_turns(
                        pair,
                        turn,
                        lambda each, mode=mode, turn=turn: broker(servers[each], jars, mode, turn),
                        table,
                    )  # type: ignore[misc]
        finally:
            for server in servers.values():
                server.stop()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path, nargs="?", default=HERE.parent)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", default="append,client,broker")
    parser.add_argument("--modes", default="sync16,async,batch,consume", help=f"of {', '.join(MODES)}")
    parser.add_argument("--clients", default=",".join(CLIENT_PARTS), help="parts of python_client.py")
    chosen = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="mqframe-bench"))
    try:
        pair = (
            Checkout(chosen.before.resolve(), work / "before"),
            Checkout(chosen.after.resolve(), work / "after"),
        )
        modes, clients = chosen.modes.split(","), chosen.clients.split(",")
        table = compare(pair, set(chosen.parts.split(",")), modes, clients, chosen.rounds)
        for name, values in table.items():
            before, after = map(statistics.median, values)
            best_before, best_after = map(max if name.endswith("rate") else min, values)
            print(
                f"{name:46} before {before:11,.2f}  after {after:11,.2f}  ratio {after / before:5.3f}"
                f"  of the best {best_after / best_before:5.3f}"
            )
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
