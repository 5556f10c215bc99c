"""Messages of a pull's answer, read by compiled code; what they can do is as Python has it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MemberDescriptorType
from typing import Any, Final, cast

from mqframe.core.messages.many import ManyMessages
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Body
from mqframe_speedups import _native
from mqframe_speedups._native import RecordMessage, read_messages
from mqframe_speedups.switch import is_off

_HELD: Final = [name for name, kept in vars(ReceivedMessage).items() if type(kept) is MemberDescriptorType]


def _plain(parts: dict[str, Any]) -> ReceivedMessage:
    """The message of Python with these attributes: what copies, and what other processes get, are."""
    message = ReceivedMessage.__new__(ReceivedMessage)
    for name, value in parts.items():
        setattr(message, name, value)
    return message


def _reduce(message: RecordMessage, protocol: object) -> tuple[object, tuple[dict[str, Any]]]:
    return _plain, ({name: getattr(message, name) for name in _HELD},)


class ManyRecords(ManyMessages):
    """What is asked of many at once, of which the first is a `RecordMessage`, as `ManyMessages` has it."""

    def offsets(self, messages: Sequence[ReceivedMessage]) -> list[int]:
        """Their queue offsets."""
        found = _native.offsets_of(messages)
        return super().offsets(messages) if found is None else found

    def store_bytes(self, messages: Sequence[ReceivedMessage]) -> int:
        """Bytes of their records together."""
        found = _native.store_bytes_of(messages)
        return super().store_bytes(messages) if found is None else found

    def may_have(self, messages: Sequence[ReceivedMessage], name: bytes) -> bool:
        """Whether `name` stands anywhere in the properties of any."""
        found = _native.any_may_have(messages, name)
        return super().may_have(messages, name) if found is None else found

    def rise_in(self, messages: Sequence[ReceivedMessage], queue: MessageQueue, first: int) -> bool:
        """Whether they are known to be of `queue`, from offset `first` on, in order."""
        return _native.rise_in(messages, queue.topic, queue.queue_id, first)

    def guard(self, messages: Sequence[ReceivedMessage], bytes_max: int, check_crc: bool) -> None:
        """Let bodies unpack to `bytes_max` bytes at most; `check_crc`: not without a check."""
        if not _native.guard(messages, bytes_max, check_crc):
            super().guard(messages, bytes_max, check_crc)


def _become_received() -> None:
    """Have `RecordMessage` be a `ReceivedMessage` in all that it does not do itself."""
    of_their_own = vars(RecordMessage)
    for name, what in vars(ReceivedMessage).items():
        if name not in of_their_own and (not name.startswith("_") or name == "__repr__"):
            setattr(RecordMessage, name, what)
    setattr(RecordMessage, "_properties_split", vars(ReceivedMessage)["properties"].fget)  # noqa: B010 - likewise
    setattr(RecordMessage, "__reduce_ex__", _reduce)  # noqa: B010 - a type checker would not have it
    setattr(RecordMessage, "_many", ManyRecords())  # noqa: B010 - likewise
    ReceivedMessage.register(RecordMessage)


def read_records(records: Body, broker_name: str = "") -> Iterable[ReceivedMessage]:
    """As `decode_records`."""
    found = read_messages(bytes(records), broker_name)
    return decode_records(records, broker_name) if found is None else cast("list[ReceivedMessage]", found)


def reader(environment: Mapping[str, str]) -> Callable[[Body, str], Iterable[ReceivedMessage]]:
    """What clients read answers with, by the switch in `environment`."""
    return decode_records if is_off(environment) else read_records


_become_received()
decode = reader(os.environ)
"""What clients of this process read answers of pulls with."""
