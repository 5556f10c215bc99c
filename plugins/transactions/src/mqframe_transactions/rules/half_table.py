"""Which half messages wait for the end of their transaction, and how far both queues are worked off."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

_WHOLE: Final = 0xFF
_TRIM_BYTES: Final = 4096
_TRIM_OPS: Final = 4096


class HalfTable:
    """The open transactions of one half queue.

    A transaction is named by its root: the queue offset of the half as its producer stored it. A half that is
    put back at the end of the queue (checked, or passed by) is the same transaction at another place.

    ============  ==================  =====================  ====================  ====================
    state         `close`             `move`                 `place`               `advance` past it
    ============  ==================  =====================  ====================  ====================
    open at o     ended; names o      open at a later place  o                     no
    ended         refused (`None`)    refused                `None`                yes
    moved away    (the root is open at its new place; only the copy counts)        yes
    ============  ==================  =====================  ====================  ====================

    Committed, rolled back and discarded are all ended here: what a late or second end meets is the same. How
    often a transaction was asked for stands in its half message itself, which survives everything.

    Every half behind `half_cursor` is open unless it is marked, so a half that was just stored needs no call.
    Memory: one bit for each half behind the cursor, 8 bytes for each op behind `op_cursor`, and about 120
    bytes for each transaction that was put back and is still open.
    """

    __slots__ = ("_base", "_bits", "_moved", "_ops", "_passed_ops", "half_cursor", "op_cursor")

    def __init__(self, half_cursor: int = 0, op_cursor: int = 0) -> None:
        self.half_cursor = half_cursor
        self.op_cursor = op_cursor
        self._base = half_cursor & ~7
        self._bits = bytearray()
        self._moved: dict[int, int] = {}
        self._ops = array("q")
        self._passed_ops = 0

    @property
    def moved(self) -> int:
        """How many open transactions were put back, count."""
        return len(self._moved)

    def open(self, half_end: int) -> int:
        """How many transactions are open, of the halves before `half_end`."""
        marked = int.from_bytes(self._bits, "little") >> max(0, self.half_cursor - self._base)
        return max(0, half_end - self.half_cursor - marked.bit_count())

    def place(self, root: int) -> int | None:
        """The queue offset of the half that stands for transaction `root`; `None` when it has ended."""
        at = self._moved.get(root, root)
        return None if at < self.half_cursor or self._is_marked(at) else at

    def close(self, root: int) -> int | None:
        """End transaction `root`; returns the offset that its op message names, `None` for an ended one.

        Committing, rolling back and discarding do this once; whoever comes second gets `None`.
        """
        at = self.place(root)
        if at is not None:
            self._mark(at)
            self._moved.pop(root, None)
        return at

    def move(self, root: int, offset: int) -> bool:
        """The half of `root` was stored again at `offset`; returns whether the transaction is open."""
        at = self.place(root)
        if at is None:
            if offset >= self.half_cursor:
                self._mark(offset)
            return False
        self._mark(at)
        self._moved[root] = offset
        return True

    def stored_op(self, op_offset: int, half_offset: int) -> None:
        """An op message that names `half_offset`, and perhaps ones before it, lies at `op_offset`."""
        expected = self.op_cursor + len(self._ops) - self._passed_ops
        if op_offset >= expected:
            # An op that is missing in between was another's, and says nothing of a half behind the cursor.
            self._ops.extend([-1] * (op_offset - expected))
            self._ops.append(half_offset)

    def advance(self, half_end: int) -> bool:
        """Pass what has ended, up to `half_end`; returns whether a cursor moved."""
        before = self.half_cursor, self.op_cursor
        self.half_cursor = self.next_open(self.half_cursor, half_end)
        self._trim()
        ops, at = self._ops, self._passed_ops
        while at < len(ops) and ops[at] < self.half_cursor:
            at += 1
        self.op_cursor += at - self._passed_ops
        self._passed_ops = at
        if at >= _TRIM_OPS:
            del ops[:at]
            self._passed_ops = 0
        return before != (self.half_cursor, self.op_cursor)

    def next_open(self, offset: int, end: int) -> int:
        """The first half at or behind `offset` that is not marked; `end` when there is none before it."""
        bits, base = self._bits, self._base
        size = len(bits) << 3
        while offset < end:
            at = offset - base
            if at >= size:
                return offset
            byte = bits[at >> 3]
            if byte == _WHOLE and not at & 7:
                offset += 8
            elif byte >> (at & 7) & 1:
                offset += 1
            else:
                return offset
        return end

    def skip_to(self, offset: int) -> None:
        """The halves before `offset` are no longer kept: pass them, whatever became of them."""
        if offset > self.half_cursor:
            self.half_cursor = offset
            self._moved = {root: at for root, at in self._moved.items() if at >= offset}
            self._trim()

    # After a restart: copies in the order of the queue, then ops, then `settle`.

    def found_copy(self, offset: int, root: int) -> None:
        """The half at `offset` says that it stands for `root`; a later one counts more."""
        earlier = self._moved.get(root, root)
        if earlier >= self.half_cursor:
            self._mark(earlier)
        self._moved[root] = offset

    def found_op(self, op_offset: int, half_offsets: Iterable[int], half_end: int) -> None:
        """The op message at `op_offset` says that these halves, all before `half_end`, have ended."""
        highest = -1
        for offset in half_offsets:
            if self.half_cursor <= offset < half_end:
                self._mark(offset)
                highest = max(highest, offset)
        self.stored_op(op_offset, highest)

    def settle(self) -> None:
        """All was found: forget the transactions whose last copy has ended."""
        self._moved = {root: at for root, at in self._moved.items() if not self._is_marked(at)}

    def _is_marked(self, offset: int) -> bool:
        at = offset - self._base
        if at < 0:
            return True
        return at >> 3 < len(self._bits) and bool(self._bits[at >> 3] >> (at & 7) & 1)

    def _mark(self, offset: int) -> None:
        at = offset - self._base
        if at < 0:
            return
        missing = (at >> 3) + 1 - len(self._bits)
        if missing > 0:
            self._bits.extend(bytes(missing))
        self._bits[at >> 3] |= 1 << (at & 7)

    def _trim(self) -> None:
        passed = (self.half_cursor - self._base) >> 3
        if passed >= _TRIM_BYTES:
            del self._bits[:passed]
            self._base += passed << 3
