#!/usr/bin/env python3
"""How long a server needs for a store that was copied, and who answers meanwhile.

    start_copied.py [--messages 1000] [--directory DIR]

Fills a store, stops it, and copies what a backup has: the log only, with zeros where it had holes, and no
check point; its last file was made ahead, so it is nothing but zeros. `mqframe server` is started on that,
and its name server and its health are asked all the time until it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from start import fill

from mqframe import Admin
from mqframe.core.errors import MqframeError

FILE_BYTES = 1 << 30
PORTS = {"--nameserver-port": 29876, "--broker-port": 29911, "--metrics-port": 29557}
PAUSE_SECONDS = 0.05


def copy(source: Path, target: Path) -> None:
    """The log files of `source` without holes, and one more of zeros."""
    target.mkdir(parents=True)
    paths = sorted(source.iterdir())
    for path in paths:
        with path.open("rb") as read, (target / path.name).open("wb") as write:
            while part := read.read(1 << 20):
                write.write(part)
    with (target / f"{len(paths) * FILE_BYTES:020d}").open("wb") as write:
        for _ in range(FILE_BYTES >> 20):
            write.write(bytes(1 << 20))


def fill_and_kill(directory: Path, messages: int) -> None:
    """A store of so many messages whose process was killed; without the file that was made ahead."""
    subprocess.run([sys.executable, __file__, "--fill", directory, "--messages", str(messages)], check=False)
    for path in (directory / "commitlog").iterdir():
        if not path.name.isdecimal() or not any(path.open("rb").read(1 << 12)):
            path.unlink()


def ask(name: str, question: Callable[[], object], ready: threading.Event, found: dict[str, float]) -> None:
    """Put `question` again and again; keep the longest that an answer took."""
    while not ready.is_set():
        began = time.perf_counter()
        try:
            question()
        except (OSError, MqframeError):
            time.sleep(PAUSE_SECONDS)
            continue
        found[name] = max(found.get(name, 0), time.perf_counter() - began)
        time.sleep(PAUSE_SECONDS)


def health() -> None:
    url = f"http://127.0.0.1:{PORTS['--metrics-port']}/readyz"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()
    except urllib.error.HTTPError as refused:
        text = json.loads(refused.read())["waits_for"]
        print(f"  {text}", flush=True)


def measure(data: Path) -> None:
    words = [str(word) for pair in PORTS.items() for word in pair]
    words += ["--data", str(data), "--set", "store.disk_limits=false"]
    began = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "mqframe", "server", *words], stdout=subprocess.PIPE, text=True
    )
    ready, worst = threading.Event(), dict[str, float]()
    with Admin(nameserver=f"127.0.0.1:{PORTS['--nameserver-port']}") as admin:
        asking = [
            threading.Thread(target=ask, args=(name, question, ready, worst))
            for name, question in (("health", health), ("name server", admin.cluster.info))
        ]
        for each in asking:
            each.start()
        assert server.stdout is not None
        print(server.stdout.readline().strip())
        elapsed = time.perf_counter() - began
        ready.set()
        for each in asking:
            each.join()
    server.terminate()
    server.wait()
    slowest = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in worst.items())
    print(f"ready after {elapsed:.2f} s; the slowest answers: {slowest}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, help="where to make a temporary store")
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill:
        asyncio.run(fill(options.fill, options.messages, 8))
        return
    os.umask(0o077)
    scratch = Path(tempfile.mkdtemp(dir=options.directory))
    try:
        fill_and_kill(scratch / "source", options.messages)
        copy(scratch / "source" / "commitlog", scratch / "data" / "store" / "commitlog")
        shutil.rmtree(scratch / "source")
        measure(scratch / "data")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
