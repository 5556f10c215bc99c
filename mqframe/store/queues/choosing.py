"""Which records a pull of a queue returns, as stretches of the log, and how these are read."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from itertools import islice
from typing import Final, NamedTuple

from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record_filter import RecordFilter
from mqframe.core.wire.frame import Body
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE

Fetch = Callable[[int, int], "Body | None"]
"""The record of that many bytes at a log offset; `None` when the log does not hold it any more."""

LookAhead = Callable[[int, "list[tuple[int, int, int]]", int], tuple[int, int]]
"""Looks at entries from this one on in one go: as `RecordsAhead.look_ahead` with its first arguments."""

GAP_BYTES_MAX: Final = 4096
"""Stretches so close to each other are read with one call: to copy what lies between costs less."""
WINDOW_BYTES_MAX: Final = 1 << 20
_ALL_CODES: Final = range(-(1 << 63), 1 << 63)

Stretch = tuple[int, int]
"""Log offsets [start, end) of whole records."""


class Chosen(NamedTuple):
    """`following`: where the reader goes on; `found` and `size_bytes`: in `stretches`.

    `lasts`: of each stretch the number, in the entries, of its last entry; `odd`: `following` is the offset
    of an entry that no dispatch has written, and nothing was found before it.
    """

    status: GetStatus
    following: int
    stretches: list[Stretch]
    found: int
    size_bytes: int
    lasts: list[int]
    odd: bool = False


def choose(
    entries: bytes,
    offset: int,
    max_messages: int,
    codes: Container[int] | None,
    bytes_max: int,
    log_start: int,
    file_bytes: int,
    records: RecordFilter | None = None,
    fetch: Fetch | None = None,
    look_ahead: LookAhead | None = None,
) -> Chosen:
    """What to read of `entries`, the first of which is queue offset `offset`.

    Neighbouring records of one file of the log make one stretch. At least one record is taken, however large
    it is. `records`: asked of each record that `codes` let through, which `fetch` reads. `look_ahead`:
    called behind one that it does not want.
    """
    if codes is None and records is None:
        return _choose_all(entries, offset, max_messages, bytes_max, log_start, file_bytes)
    wanted = _ALL_CODES if codes is None else codes
    picked: list[tuple[int, int, int]] = []
    status = GetStatus.NO_MATCHED_MESSAGE
    size_all = 0
    at = offset
    walk = ENTRY.iter_unpack(entries[: len(entries) // ENTRY_BYTES * ENTRY_BYTES])
    for physical, size, code in walk:
        if code not in wanted and size > 0:
            at += 1
            continue
        gone = size == FILLER_SIZE and not physical
        if not gone:
            if physical < log_start or size <= 0:
                if picked:
                    break
                return Chosen(status, at, [], 0, 0, [], odd=True)
            if picked and (len(picked) >= max_messages or size_all + size > bytes_max):
                break
            if records is not None and fetch is not None:
                record = fetch(physical, size)
                gone = record is None
                if record is not None and not records(record):
                    at += 1
                    if look_ahead is not None:
                        done, size_all = look_ahead(at - offset, picked, size_all)
                        at += done
                        next(islice(walk, done, done), None)
                    continue
        if gone:
            at += 1
            if not picked:
                status = GetStatus.MESSAGE_WAS_REMOVING
            continue
        picked.append((at - offset, physical, size))
        size_all += size
        at += 1
    stretches, lasts = _joined(picked, log_start, file_bytes)
    return Chosen(GetStatus.FOUND if picked else status, at, stretches, len(picked), size_all, lasts)


def _joined(
    picked: list[tuple[int, int, int]], log_start: int, file_bytes: int
) -> tuple[list[Stretch], list[int]]:
    """Stretches of neighbours, and the number of the last one of each; of (number, log offset, size)."""
    stretches: list[Stretch] = []
    lasts: list[int] = []
    start = stop = last = -1
    for number, physical, size in picked:
        if physical == stop and number == last + 1 and (physical - log_start) % file_bytes:
            stop += size
        else:
            if stop > start:
                stretches.append((start, stop))
                lasts.append(last)
            start, stop = physical, physical + size
        last = number
    if picked:
        stretches.append((start, stop))
        lasts.append(last)
    return stretches, lasts


def _choose_all(
    entries: bytes, offset: int, max_messages: int, bytes_max: int, log_start: int, file_bytes: int
) -> Chosen:
    """As `choose`, without filters: big pulls go through here, so the common step is the first test."""
    count = min(len(entries) // ENTRY_BYTES, max_messages)
    stretches: list[Stretch] = []
    lasts: list[int] = []
    status = GetStatus.NO_MATCHED_MESSAGE
    start = stop = file_end = -1
    found = passed = 0
    room = bytes_max
    for physical, size, _ in ENTRY.iter_unpack(entries[: count * ENTRY_BYTES]):
        if physical == stop and 0 < size <= room and stop != file_end:
            stop += size
            room -= size
            found += 1
            continue
        if size == FILLER_SIZE and not physical:
            if stop > start:
                stretches.append((start, stop))
                lasts.append(found + passed - 1)
                start = stop = -1
            passed += 1
            if not found:
                status = GetStatus.MESSAGE_WAS_REMOVING
            continue
        if physical < log_start or size <= 0:
            if found:
                break
            return Chosen(status, offset + passed, [], 0, 0, [], odd=True)
        if found and size > room:
            break
        if stop > start:
            stretches.append((start, stop))
            lasts.append(found + passed - 1)
        start, stop = physical, physical + size
        file_end = physical - (physical - log_start) % file_bytes + file_bytes
        room -= size
        found += 1
    if found:
        if stop > start:
            stretches.append((start, stop))
            lasts.append(found + passed - 1)
        status = GetStatus.FOUND
    return Chosen(status, offset + found + passed, stretches, found, bytes_max - room, lasts)


def windows(stretches: Iterable[Stretch], log_start: int, file_bytes: int) -> list[list[Stretch]]:
    """`stretches`, ascending, in groups that are worth one read each: near to each other, in one file."""
    groups: list[list[Stretch]] = []
    last = limit = -1
    for start, end in stretches:
        if last <= start <= last + GAP_BYTES_MAX and end <= limit:
            groups[-1].append((start, end))
        else:
            groups.append([(start, end)])
            file_end = start - (start - log_start) % file_bytes + file_bytes
            limit = min(file_end, start + WINDOW_BYTES_MAX)
        last = end
    return groups


def read_window(window: list[Stretch], fetch: Fetch) -> list[Body] | None:
    """The records of each stretch of `window`, read with one call of `fetch`; `None` when it returns none."""
    first = window[0][0]
    whole = fetch(first, window[-1][1] - first)
    if whole is None or len(window) == 1:
        return None if whole is None else [whole]
    view = memoryview(whole)
    return [view[start - first : end - first] for start, end in window]
