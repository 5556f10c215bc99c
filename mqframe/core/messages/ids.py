"""Message ids: the offset id that a broker gives, and the unique id that a client gives (wire.md §6).

Sources: MessageDecoder.createMessageId, MessageClientIDSetter.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import count, islice
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.errors import FixError
from mqframe.core.messages.addresses import decode_host

PORT_MAX: Final = 65_535
_HEX: Final = [f"{number:02X}" for number in range(256)]


def offset_id(host: bytes, commit_log_offset: int) -> str:
    """The id of the record at `commit_log_offset` (bytes) of the broker whose packed address is `host`."""
    return (host + commit_log_offset.to_bytes(8, "big", signed=True)).hex().upper()


def parse_offset_id(message_id: str) -> tuple[str, int]:
    """The broker's "ip:port" and the commit-log offset (bytes) in an offset id. Raises `FixError`."""
    if len(message_id) not in (32, 56):
        raise FixError(f"message id {message_id!r} has {len(message_id)} characters, not 32 or 56")
    try:
        raw = bytes.fromhex(message_id)
    except ValueError:
        raise FixError(f"message id {message_id!r} is not hexadecimal") from None
    if int.from_bytes(raw[-12:-8], "big") > PORT_MAX:  # a sender's id is as long, with other things there
        raise FixError(f"message id {message_id!r} names no port of a broker; is it the sender's id?")
    return decode_host(raw[:-8]), int.from_bytes(raw[-8:], "big", signed=True)


def spell_ids(head: str, numbers: Iterable[int]) -> list[str]:
    """Unique ids that begin with `head` and end with the low 16 bits of `numbers`, as compiled code does."""
    return [f"{head}{_HEX[n >> 8 & 255]}{_HEX[n & 255]}" for n in numbers]


class UniqueIds:
    """Makes unique ids: IP, process id, a random number, milliseconds since the month began, a counter.

    `ip`: 4 or 16 bytes; `process_id`: its low 16 bits are used; `salt`: a random number below 2^32;
    `month_start_ms`: gives the start of the local month that holds a wall-clock time, both in ms.
    """

    def __init__(
        self,
        clock: Clock,
        ip: bytes,
        process_id: int,
        salt: int,
        month_start_ms: Callable[[int], int] = lambda now_ms: local_month_start_ms(now_ms),
    ) -> None:
        self._clock = clock
        self._prefix = (ip + (process_id & 0xFFFF).to_bytes(2, "big") + salt.to_bytes(4, "big")).hex().upper()
        self._month_start_ms = month_start_ms
        self._started_ms = month_start_ms(clock.now_ms())
        self._renew_ms = self._started_ms + 27 * 86_400_000
        self._numbers = count(1)  # each is taken in one atomic step, so that threads never share one

    def next(self) -> str:
        """A new id of 32 (IPv4) or 56 (IPv6) upper-case hexadecimal digits. May be called from any thread."""
        return f"{self._prefix}{self._elapsed_ms():08X}{next(self._numbers) & 0xFFFF:04X}"

    def take(self, number: int, spell: Callable[[str, Iterable[int]], list[str]] = spell_ids) -> list[str]:
        """`number` new ids, at most 65,536, made at one reading of the clock; `spell`: as `spell_ids`."""
        return spell(f"{self._prefix}{self._elapsed_ms():08X}", islice(self._numbers, number))

    def _elapsed_ms(self) -> int:
        now = self._clock.now_ms()
        if now >= self._renew_ms:
            self._started_ms = self._month_start_ms(now)
            self._renew_ms = max(self._started_ms + 27 * 86_400_000, now + 3_600_000)
        return (now - self._started_ms) & 0xFFFFFFFF


def local_month_start_ms(now_ms: int) -> int:
    """When the local calendar month that holds `now_ms` began, in milliseconds."""
    moment = datetime.fromtimestamp(now_ms / 1000)
    start = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(start.timestamp() * 1000)
