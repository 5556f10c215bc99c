"""Frames recorded between real clients, brokers and name servers (5.3.3 and 4.9.7), with facts about each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "data" / "frames"


class Recorded(NamedTuple):
    """One frame: `side` is "request" or "response", `facts` what the recorder found in it."""

    name: str
    side: str
    facts: dict[str, Any]
    raw: bytes
    request_code: int

    def __str__(self) -> str:
        return f"{self.name}.{self.side}"


def _load() -> list[Recorded]:
    found = []
    for index in sorted(FOLDER.glob("*/index.json")):
        for entry in json.loads(index.read_text()):
            for side, suffix in (("request", "req"), ("response", "resp")):
                path = index.with_name(f"{entry['file']}.{suffix}.bin")
                if entry.get(side):
                    name = f"{index.parent.name}/{entry['file']}"
                    code = entry["request"]["code"]
                    found.append(Recorded(name, side, entry[side], path.read_bytes(), code))
    return found


FRAMES = _load()
REQUESTS = [frame for frame in FRAMES if frame.side == "request"]
RESPONSES = [frame for frame in FRAMES if frame.side == "response"]
