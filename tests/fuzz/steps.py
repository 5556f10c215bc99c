"""What is done to the servers, step by step, and how that is written down so that it can be done again."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One step.

    | kind | means |
    |-|-|
    | frame | bytes to `server` ("broker", "nameserver", …) by connection number `line` |
    | rush | the same, with so many turns of the loop as `seconds` says before the next step |
    | close | that connection ends |
    | deaf, hear | that connection does not read its answers any more, or reads again |
    | put | a message goes straight into the store; `message` has the fields of an `Incoming` |
    | time | `seconds` pass |
    | stop, kill | the broker stops in good order, or as if killed, and starts again |
    """

    kind: str
    server: str = "broker"
    line: int = 0
    data: bytes = b""
    seconds: float = 0.0
    message: dict[str, Any] = {}


def save(path: Path, steps: Sequence[Step], why: str) -> None:
    """Write `steps` as a file of the corpus; `why` says what they once did."""
    listed = []
    for step in steps:
        entry: dict[str, Any] = {"kind": step.kind}
        if step.kind in ("frame", "rush", "close", "deaf", "hear"):
            entry |= {"server": step.server, "line": step.line}
        if step.kind in ("frame", "rush"):
            packed = zlib.compress(step.data, 9)
            small = len(packed) < len(step.data) // 2
            entry["zlib" if small else "data"] = base64.b64encode(packed if small else step.data).decode()
        elif step.kind == "put":
            entry["message"] = step.message
        if step.kind in ("time", "rush"):
            entry["seconds"] = step.seconds
        listed.append(entry)
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in listed)
    path.write_text(f'{{"why": {json.dumps(why)}, "steps": [\n{lines}\n]}}\n')


def load(path: Path) -> list[Step]:
    """The steps of a file of the corpus."""
    return [
        Step(
            entry["kind"],
            entry.get("server", "broker"),
            entry.get("line", 0),
            zlib.decompress(base64.b64decode(entry["zlib"]))
            if "zlib" in entry
            else base64.b64decode(entry.get("data", "")),
            entry.get("seconds", 0.0),
            entry.get("message", {}),
        )
        for entry in json.loads(path.read_text())["steps"]
    ]
