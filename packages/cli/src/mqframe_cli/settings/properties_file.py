"""Java's `.properties` text, which `broker.conf` is written in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from mqframe.core.config.layers import Given, Layer, Rank

_KEY: Final = re.compile(r"((?:[^\\\s=:]|\\.)*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Iterator[tuple[str, str, int]]:
    """(key, value, number of the first line) of each entry, in order.

    Comments start with `#` or `!`; `=`, `:` or blanks part key and value; a backslash at its end joins a line
    with the next.
    """
    for line, number in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None
        yield _unescape(match[1]), _unescape(match[2]), number


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    joined, start = "", 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        stripped = line.lstrip(" \t\f")
        if not joined and (not stripped or stripped[0] in "#!"):
            continue
        start = start if joined else number
        joined += stripped
        if (len(joined) - len(joined.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        yield joined, start
        joined = ""
    if joined:
        yield joined, start


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else _CONTROL.get(m[1], m[1]), text)


def broker_conf(text: str, source: str, sections: Collection[str] | None = None) -> Layer:
    """A RocketMQ `broker.conf` or `namesrv.conf`. `sections`: whose settings its keys mean; `None`: all."""
    entries = parse_properties(text.removeprefix("\ufeff"))  # what editors put before it
    given = (Given(key, value, f"{source}:{line}") for key, value, line in entries)
    return Layer(Rank.BROKER_CONF, tuple(given), None if sections is None else frozenset(sections))
