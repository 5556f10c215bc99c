"""Processes whose consumers pop, ended by SIGKILL: by a message that they handle, or by who started them.

    python killed_workers.py '{"nameserver": …, "group": …, "topic": …, "file": …}'

is one of them. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from real_time import until

from interop.servers import Servers
from mqframe import ClientSettings, ConsumerSettings, PushConsumer, ReceivedMessage

POISON = b"poison"
"""The body of a message that kills whoever handles it."""
THREADS = 4
INVISIBLE_SECONDS = 5.0
"""After so long what a process had that was killed comes again."""
HANDLE_SECONDS = 0.02
WORKERS = 2
AT_WORK_SECONDS = 60.0


class Handled(NamedTuple):
    """A message that a process began to handle."""

    process: int
    body: bytes
    times: int


class KilledWorkers:
    """`WORKERS` processes that pop `topic` for `group`. Use it in a with block.

    `folder`: for what they write down. One that ended begins anew with the next look at what was `handled`.
    """

    def __init__(self, servers: Servers, group: str, topic: str, folder: Path) -> None:
        self._file = folder / "handled"
        self._file.touch()
        given = {"nameserver": servers.nameserver, "group": group, "topic": topic, "file": str(self._file)}
        self._command = [sys.executable, __file__, json.dumps(given)]
        self._running: list[subprocess.Popen[bytes]] = []
        self.deaths = 0

    def __enter__(self) -> KilledWorkers:
        self._running = [self._start() for _ in range(WORKERS)]
        return self

    def __exit__(self, *problem: object) -> None:
        for process in self._running:
            process.kill()
        for process in self._running:
            process.communicate()

    @property
    def handled(self) -> list[Handled]:
        """All that any of them began, in that order."""
        for place, process in enumerate(self._running):
            code = process.poll()
            if code is not None:
                assert code == -signal.SIGKILL, f"a worker ended with {code}"
                process.communicate()
                self.deaths += 1
                self._running[place] = self._start()
        whole = self._file.read_bytes().rpartition(b"\n")[0]
        rows = [line.split() for line in whole.splitlines()]
        return [Handled(int(process), body, int(times)) for process, body, times in rows]

    def kill_one_at_work(self) -> None:
        """Kill whoever began a message last."""

        def last() -> subprocess.Popen[bytes] | None:
            alive = {process.pid: process for process in self._running if process.poll() is None}
            return next((alive[each.process] for each in self.handled[::-1] if each.process in alive), None)

        until(lambda: last() is not None, AT_WORK_SECONDS)
        if (process := last()) is not None:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE)


def main() -> None:
    given = json.loads(sys.argv[1])
    file = os.open(given["file"], os.O_WRONLY | os.O_APPEND)
    process = os.getpid()
    consumer = PushConsumer(
        given["group"],
        client=ClientSettings(nameserver=given["nameserver"], instance_name=f"worker-{process}"),
        settings=ConsumerSettings(consume_threads=THREADS),
        consume_from="first",
        mode="pop",
        mode_options={"invisible_seconds": INVISIBLE_SECONDS},
    )

    @consumer.on(given["topic"])
    def handle(message: ReceivedMessage) -> None:
        os.write(file, b"%d %s %d\n" % (process, message.body, message.reconsume_times))
        if message.body == POISON:
            os.kill(process, signal.SIGKILL)
        time.sleep(HANDLE_SECONDS)

    def end_with_parent() -> None:
        with contextlib.suppress(OSError):
            sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    consumer.run()


if __name__ == "__main__":
    main()
