"""A foreign client in a process of its own, which tells what it does line by line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from queue import Empty, Queue
from threading import Thread

import pytest

SECONDS_MAX = 120.0


class ForeignClient:
    """A running test client; its lines come as lists of words."""

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
        self._lines: Queue[list[str] | None] = Queue()
        self._errors: list[str] = []
        self._readers = [Thread(target=self._read), Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            # Log frameworks write to standard output too.
            if line.startswith("fact\t"):
                self._lines.put(line.rstrip("\n").split("\t")[1:])
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr
        self._errors.extend(self.process.stderr)

    def _said(self) -> str:
        return "".join(self._errors)[-2000:]

    def next_line(self, seconds: float = SECONDS_MAX) -> list[str] | None:
        """The next line, `None` at the end; fails the test when none comes in time."""
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            pytest.fail(f"the foreign client said nothing for {seconds} s: {self._said()}")

    def take(self, word: str, count: int) -> list[list[str]]:
        """The next `count` lines that start with `word`; others are passed over."""
        found: list[list[str]] = []
        while len(found) < count:
            line = self.next_line()
            if line is None:
                pytest.fail(
                    f"the foreign client ended after {len(found)} of {count} {word!r}: {self._said()}"
                )
            if line[0] == word:
                found.append(line)
        return found

    def waiting(self, word: str) -> list[list[str]]:
        """The lines that are there by now and start with `word`."""
        found = []
        while not self._lines.empty():
            line = self._lines.get()
            if line is None:
                pytest.fail(f"the foreign client ended: {self._said()}")
            if line[0] == word:
                found.append(line)
        return found

    def finish(self) -> list[list[str]]:
        """Close its input, wait for its end and give the lines that were left."""
        assert self.process.stdin
        self.process.stdin.close()
        lines = []
        while (line := self.next_line()) is not None:
            lines.append(line)
        assert self.process.wait(SECONDS_MAX) == 0, self._said()
        return lines

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
