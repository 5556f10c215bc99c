"""Handles by which senders take back messages that wait for their time (source: RecallMessageHandle.java)."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple


class RecallHandle(NamedTuple):
    """Names one waiting message. `time`: a time, ms, as text, that lies in the slot of the message."""

    topic: str
    broker_name: str
    time: str
    message_id: str

    def encode(self) -> str:
        """The text that senders get and give back."""
        raw = " ".join(("v1", self.topic, self.broker_name, self.time, self.message_id))
        return base64.urlsafe_b64encode(raw.encode()).decode()


def recall_handle(topic: str, broker_name: str, out_ms: int, message_id: str) -> str:
    """The handle of the message that waits in slot `out_ms`."""
    return RecallHandle(topic, broker_name, str(out_ms + 1), message_id).encode()


def decode_recall_handle(text: str) -> RecallHandle:
    """What a handle says. Raises ValueError when it is none."""
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise ValueError("recall handle is invalid") from None
    words = raw.split(" ")
    if words[0] != "v1" or len(words) < 5 or not words[4]:
        raise ValueError("recall handle is invalid")
    return RecallHandle(*words[1:5])


def delete_key(topic: str, unique_key: str) -> str:
    """What a recall names: the message of `topic` with this unique key."""
    return f"{topic}+{unique_key}"
