"""What requests ask for that may be limited, and how much it is, told from their bytes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

import attrs

from mqframe.core.requests import REQUESTS
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import Request
from mqframe.core.requests.messages import PullFields, SendFields, SendFieldsV2
from mqframe.core.wire.frame import Body

_RECORDS: Final = "records, back to back"


class Way(Enum):
    """What is limited of a request.

    Of a heartbeat, whether there may be a connection; of sends, what comes in; of the others, what is given.
    """

    HEARTBEAT = "heartbeat"
    SEND = "send"
    PULL = "pull"
    POP = "pop"
    PEEK = "peek"


@attrs.frozen
class Asked:
    """How to read requests of one kind. `topic`, `group`: names of header fields; `batch`: of messages."""

    way: Way
    topic: str = ""
    group: str = ""
    batch: bool = False


def asked_by(codes: Sequence[int]) -> dict[int, Asked]:
    """Those of the requests `codes` that quotas are about, by code."""
    kinds = {code: REQUESTS[code] for code in codes if code in REQUESTS}
    found = {code: _asked(kind) for code, kind in kinds.items()}
    return {code: asked for code, asked in found.items() if asked is not None}


def _asked(kind: type[Request]) -> Asked | None:
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    topic = names.get("topic", "")
    if issubclass(kind, HeartBeat):
        return Asked(Way.HEARTBEAT)
    if issubclass(kind, SendFields | SendFieldsV2):
        return Asked(Way.SEND, topic, names["producer_group"], kind.BODY.startswith("batch"))
    if issubclass(kind, PullFields):
        return Asked(Way.PULL, topic, names["consumer_group"])
    if kind.ANSWER_BODY == _RECORDS and topic and "consumer_group" in names:
        return Asked(Way.POP if "poll_time" in names else Way.PEEK, topic, names["consumer_group"])
    return None


def number(fields: Mapping[str, str], name: str, default: int) -> int:
    """The header field `name`; `default` where it is none: whoever serves the request says so."""
    text = fields.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else default


def count_lengths(parts: Sequence[Body]) -> int:
    """How many records lie in `parts` together, each of which begins with its length in four bytes.

    So do stored messages, and those of a batch. A part may end within a record.
    """
    count = start = base = 0
    head = b""
    for part in parts:
        end = base + len(part)
        while (begun := start + len(head)) < end:
            head += bytes(part[begun - base : begun - base + 4 - len(head)])
            if len(head) < 4:
                break
            length, head, count = int.from_bytes(head, "big"), b"", count + 1
            if length < 4:
                return count  # no record: whoever reads it says so
            start += length
        base = end
    return count
