"""A foreign client, which tells what it does line by line: in a process of its own, or in one of several."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from queue import Empty, Queue
from threading import Event, Lock, Thread

import pytest

SECONDS_MAX = 120.0
END_SECONDS_MAX = 2.0
"""How long a client that a test left running may take to end in a process of others."""


def split(line: str) -> list[str] | None:
    """The words of a line of facts; `None` for others, as log frameworks write to standard output too."""
    return line.rstrip("\n").split("\t")[1:] if line.startswith("fact\t") else None


class Process:
    """A process whose lines are read while it runs."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **environment},
        )
        self._errors: list[str] = []
        self._readers = [Thread(target=self._read), Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.hear(line)
        self.hear(None)

    def _read_errors(self) -> None:
        assert self.process.stderr
        self._errors.extend(self.process.stderr)

    def hear(self, line: str | None) -> None:
        """Take the next line of its output; `None` at the end."""
        raise NotImplementedError

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        return "".join(self._errors)[-2000:]

    def end(self) -> None:
        """End it, unless it has ended, and let go of its pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


class ForeignClient:
    """A running test client; its lines come as lists of words."""

    def __init__(self) -> None:
        self._lines: Queue[list[str] | None] = Queue()

    def said(self) -> str:
        """What it complained of last."""
        raise NotImplementedError

    def next_line(self, seconds: float = SECONDS_MAX) -> list[str] | None:
        """The next line, `None` at the end; fails the test when none comes in time."""
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            pytest.fail(f"the foreign client said nothing for {seconds} s: {self.said()}")

    def take(self, word: str, count: int) -> list[list[str]]:
        """The next `count` lines that start with `word`; others are passed over."""
        found: list[list[str]] = []
        while len(found) < count:
            line = self.next_line()
            if line is None:
                pytest.fail(f"the foreign client ended after {len(found)} of {count} {word!r}: {self.said()}")
            if line[0] == word:
                found.append(line)
        return found

    def waiting(self, word: str) -> list[list[str]]:
        """The lines that are there by now and start with `word`."""
        found = []
        while not self._lines.empty():
            line = self._lines.get()
            if line is None:
                pytest.fail(f"the foreign client ended: {self.said()}")
            if line[0] == word:
                found.append(line)
        return found

    def rest(self) -> list[list[str]]:
        """The lines that are left, up to its end."""
        lines = []
        while (line := self.next_line()) is not None:
            lines.append(line)
        return lines

    def finish(self) -> list[list[str]]:
        """Close its input, wait for its end and give the lines that were left."""
        raise NotImplementedError

    def end(self) -> None:
        """End it, unless it has ended, and let go of what it had."""
        raise NotImplementedError


class ForeignProcess(Process, ForeignClient):
    """A test client that is a process."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        ForeignClient.__init__(self)
        Process.__init__(self, command, environment)

    def hear(self, line: str | None) -> None:
        words = None if line is None else split(line)
        if line is None or words is not None:
            self._lines.put(words)

    def finish(self) -> list[list[str]]:
        assert self.process.stdin
        self.process.stdin.close()
        lines = self.rest()
        assert self.process.wait(SECONDS_MAX) == 0, self.said()
        return lines


class Host(Process):
    """A JVM that runs test clients beside each other: `java/Host.java`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._both = Lock()
        self._running: dict[str, HostedClient] = {}
        self.started = 0
        super().__init__(command, environment)

    @property
    def has_ended(self) -> bool:
        """Whether it runs nothing any more."""
        return self.process.poll() is not None

    @property
    def idle(self) -> bool:
        """Whether all clients that it ran have ended."""
        return not self._running

    def start(self, words: Sequence[str]) -> HostedClient:
        """Start the client of a class, with words."""
        self.started += 1
        client = HostedClient(self, str(self.started))
        with self._both:
            self._running[client.number] = client
        self.tell(client.number, "start", *words)
        return client

    def tell(self, *words: str) -> None:
        """Write a line of input."""
        assert self.process.stdin
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()

    def hear(self, line: str | None) -> None:
        if line is None:
            with self._both:
                running, self._running = self._running, {}
            for left in running.values():
                left.hear_end(None)
            return
        number, _, rest = line.partition("\t")
        with self._both:
            client = self._running.get(number)
        if client is None:
            return
        if rest.startswith("ended\t"):
            with self._both:
                del self._running[number]
            client.hear_end(int(rest.split("\t")[1]))
        elif (words := split(rest)) is not None:
            client.hear(words)


class HostedClient(ForeignClient):
    """A test client of a `Host`."""

    def __init__(self, host: Host, number: str) -> None:
        super().__init__()
        self.number = number
        self._host = host
        self._code: int | None = None
        self._ended = Event()

    def hear(self, words: list[str]) -> None:
        """Take the next line of facts."""
        self._lines.put(words)

    def hear_end(self, code: int | None) -> None:
        """Take the end: `None` where its process has gone."""
        self._code = code
        self._ended.set()
        self._lines.put(None)

    def said(self) -> str:
        return self._host.said()

    def finish(self) -> list[list[str]]:
        if not self._ended.is_set():
            self._host.tell(self.number, "close")
        lines = self.rest()
        assert self._code == 0, self.said()
        return lines

    def end(self) -> None:
        """End it, unless it has ended; where it does not, its process, with all that runs there."""
        if not self._ended.is_set():
            with contextlib.suppress(OSError):  # what it is to be told to has gone
                self._host.tell(self.number, "close")
            if not self._ended.wait(END_SECONDS_MAX):
                self._host.process.kill()
                self._host.process.wait(SECONDS_MAX)  # or the next client would be started in it
