"""RocketMQ's mqadmin in a process that stays, and how to read what it prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from interop.conftest import java_client

Run = Callable[..., list[str]]
"""Runs one command, given by its words, and returns the lines that it prints."""


@contextmanager
def running(class_path: str, nameserver: str, home: Path, keys: Sequence[str] = ()) -> Iterator[Run]:
    """It asks `nameserver`; what it writes goes below `home`. `keys`: access and secret key, if it signs."""
    client = java_client(class_path, ["Mqadmin", nameserver, *keys], home, [f"-Djava.io.tmpdir={home}"])
    assert client.process.stdin
    stdin = client.process.stdin

    def run(*words: object) -> list[str]:
        stdin.write("\t".join(map(str, words)) + "\n")
        stdin.flush()
        lines = []
        while (line := client.next_line()) != ["done"]:
            assert line is not None, f"{words} ended mqadmin"
            lines.append("\t".join(line[1:]).rstrip())
        return lines

    try:
        yield run
    finally:
        client.end()


def rows(lines: list[str]) -> list[list[str]]:
    """The words of each line of a table, without its head."""
    return [line.split() for line in lines if line and not line.startswith("#")]


def pairs(lines: list[str]) -> dict[str, str]:
    """What is printed as "key : value" or "key = value"."""
    found = (re.split(r"\s*[=:]\s+", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1] for pair in found if len(pair) == 2}


def refusal(lines: list[str]) -> str:
    """The code and the sentence that a command was refused with, of which it makes an exception."""
    [found] = [line for line in lines if line.startswith("Caused by: ") and "CODE: " in line]
    return found.partition("CODE: ")[2].partition(" BROKER: ")[0].strip()
