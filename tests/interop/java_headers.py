"""Fields of RocketMQ's request headers and codes of its requests, as the classes of a version have them."""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from interop.foreign_programs import CACHE, NEWEST, build_class_path

UNMARKED = {
    50: "CreateAccessConfigRequestHeader",
    51: "DeleteAccessConfigRequestHeader",
    53: "UpdateGlobalWhiteAddrsConfigRequestHeader",
}
"""Headers of requests that versions whose headers name their codes have no more."""
_CLASS = re.compile(
    r"^(?:public |abstract |final )*class [\w.]*?(\w+)(?: extends [\w.]*?(\w+))?(?: |$)", re.MULTILINE
)
_FIELD = re.compile(r"^  (?:private|protected|public)?(?: volatile)? ?[\w.<>, ]+ (\w+);$", re.MULTILINE)
_CODE = re.compile(r"RocketMQAction\(\n\s+value=(\d+)")
_CONSTANT = re.compile(r"static final int \w+ = (\d+);")


class Shown(NamedTuple):
    """What javap says of a class: its name, that of the class above, its fields, the code of its request."""

    name: str
    above: str
    fields: frozenset[str]
    code: int | None


@cache
def classes(version: str) -> dict[str, Shown]:
    """The headers of requests, and the bodies above, by name."""
    build_class_path(version)
    names = [
        entry.removesuffix(".class").replace("/", ".")
        for jar in sorted((CACHE / version / "lib").glob("rocketmq-*.jar"))
        for entry in zipfile.ZipFile(jar).namelist()
        if re.fullmatch(r".*/(\w+RequestHeader(V2)?|SubscriptionGroupConfig|TopicConfig)\.class", entry)
    ]
    return {shown.name: shown for shown in _read(_javap(version, "-p", "-v", *names))}


@cache
def codes(version: str) -> frozenset[int]:
    """The codes that RequestCode has."""
    package = "common.protocol" if version.startswith("4.") else "remoting.protocol"
    text = _javap(version, "-constants", f"org.apache.rocketmq.{package}.RequestCode")
    return frozenset(map(int, _CONSTANT.findall(text)))


def fields_of(version: str, name: str) -> frozenset[str]:
    """The fields of a class and of those above it; none where there is no such class."""
    shown = classes(version).get(name)
    return frozenset() if shown is None else shown.fields | fields_of(version, shown.above)


@cache
def header_names() -> dict[int, str]:
    """The class of each request's header, by code."""
    return UNMARKED | {each.code: each.name for each in classes(NEWEST).values() if each.code is not None}


def _javap(version: str, *arguments: str) -> str:
    lib: Path = CACHE / version / "lib"
    command = ["javap", "-cp", f"{lib}/*", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def _read(text: str) -> Iterator[Shown]:
    starts = [*(found.start() for found in _CLASS.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        part = text[start:end]
        head, code = _CLASS.match(part), _CODE.search(part)
        assert head is not None
        fields = frozenset(name for name in _FIELD.findall(part))
        yield Shown(head[1], head[2] or "", fields, int(code[1]) if code else None)
