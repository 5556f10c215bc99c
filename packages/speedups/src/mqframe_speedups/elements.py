"""Bodies of batch requests, made by compiled code for messages as they usually are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from mqframe.core.messages.message import Message
from mqframe.core.sending import encoding
from mqframe_speedups._native import GatheredMessages, encode_elements
from mqframe_speedups.switch import is_off


def encode_usual(messages: Sequence[Message], unique_ids: Sequence[str]) -> bytes:
    """As `encode_elements`."""
    ids = list(unique_ids)
    made = messages.encoded(ids) if isinstance(messages, GatheredMessages) else None
    if made is None:
        made = encode_elements(messages, ids, Message)
    return encoding.encode_elements(messages, unique_ids) if made is None else made


def encoder(environment: Mapping[str, str]) -> Callable[[Sequence[Message], Sequence[str]], bytes]:
    """What producers make bodies with, by the switch in `environment`."""
    return encoding.encode_elements if is_off(environment) else encode_usual


encode = encoder(os.environ)
"""What producers of this process make bodies of batch requests with."""
