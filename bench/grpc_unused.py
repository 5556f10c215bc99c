#!/usr/bin/env python3
"""What a door for gRPC costs who does not use it: a server's start, its memory, sends of remoting clients.

    grpc_unused.py [--rounds 5] [--starts 15] [--count 60000] [--window 32]

Two servers run at once and are measured in turns, one without the door and one with it. A start ends when the
server says that it is ready, which it does once it listens at all its ports. Prints seconds, MB, and
microseconds of the server's processor a message, medians, and what the door adds.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import tempfile
import time
from collections import defaultdict

from access import Server, frames, send

from mqframe import Admin

WITH: dict[str, list[str]] = {
    "without": [],
    "with": ["--set", "broker.services=grpc", "--set", "plugins.grpc.port=0"],
}


def memory_mb(server: Server) -> float:
    """What the process has in memory."""
    pages = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def stop(server: Server) -> None:
    server.process.terminate()
    server.process.wait()


def starts(rounds: int, found: dict[tuple[str, str], list[float]]) -> None:
    """Start servers on folders of their own, again and again."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name, words in WITH.items():
                before = time.perf_counter()
                server = Server(f"{folder}/{name}", *words)
                took = time.perf_counter() - before
                if number:  # the first of each makes its files, and the certificate
                    found[name, "start, s"].append(took)
                    found[name, "memory, MB"].append(memory_mb(server))
                stop(server)


def sends(options: argparse.Namespace, found: dict[tuple[str, str], list[float]]) -> None:
    """Send by the remoting protocol to both."""
    with tempfile.TemporaryDirectory() as folder:
        servers = {name: Server(f"{folder}/{name}", *words) for name, words in WITH.items()}
        try:
            for server in servers.values():
                with Admin(nameserver=server.nameserver) as admin:
                    admin.topics.create("orders", queues=1)
            messages = frames(options.count, None)
            for number in range(options.rounds + 1):
                for name, server in servers.items():
                    before = server.processor_seconds()
                    send(server.broker, messages, options.window)
                    if number:
                        used = server.processor_seconds() - before
                        found[name, "send, µs"].append(used / options.count * 1e6)
        finally:
            for server in servers.values():
                stop(server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--window", type=int, default=32)
    options = parser.parse_args()
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    starts(options.starts, found)
    sends(options, found)
    for what in dict.fromkeys(what for _, what in found):
        without, door = (statistics.median(found[name, what]) for name in WITH)
        best = ", ".join(f"{min(found[name, what]):.2f}" for name in WITH)
        print(f"{what:12} without {without:7.2f}  with {door:7.2f}  ratio {door / without:.2f}  best {best}")


if __name__ == "__main__":
    main()
