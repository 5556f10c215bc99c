"""An attempt within a database transaction: keys are rows, committed with the effect or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs

from mqframe_idempotence.driver_errors import is_conflict, meaning
from mqframe_idempotence.errors import TransactionLost, WrongUse
from mqframe_idempotence.handles import Handle
from mqframe_idempotence.statements import ROWS_MAX, Statement, Statements
from mqframe_idempotence.steps import Steps
from mqframe_idempotence.stores import Claim


@attrs.frozen
class TableOptions:
    """How a store uses its table. `on_conflict`: whether the database knows ON CONFLICT DO NOTHING;
    `lock_seconds`: how long to wait for another transaction, `None`: as the connection has it."""

    table: str
    on_conflict: bool
    lock_seconds: float | None
    now_ms: Callable[[], int]


class Transaction:
    """One transaction on `handle`. Methods give the steps of an `Attempt`'s methods."""

    def __init__(self, handle: Handle, scope: str, options: TableOptions) -> None:
        self.session = handle.session
        self.settled = True
        """Whether nothing is open: it was committed, rolled back, or not begun."""
        self._handle = handle
        self._scope = scope
        self._options = options
        self._statements = Statements(options.table, handle.paramstyle)
        self._ours: list[str] = []

    def claim(self, keys: Sequence[str]) -> Steps[dict[str, Claim]]:
        """Insert `keys`; waits while another transaction has inserted one of them and not ended."""
        self.settled = False
        try:
            yield from self._set_lock_timeout()
            # In one order everywhere, or two batches might wait for each other.
            new = yield from self._insert(sorted(keys))
            if keys and self._handle.commits_by_itself():
                for some in _chunks(sorted(new)):
                    yield self._call(self._statements.delete(self._scope, some))
                raise WrongUse(
                    "the connection commits by itself, so that key and effect would not be one transaction;"
                    " open it without autocommit"
                )
        except Exception as problem:
            raise self._meaning(problem) from problem
        self._ours = [key for key in keys if key in new]
        return {key: Claim.NEW if key in new else Claim.DONE for key in keys}

    def finish(self, keys: Sequence[str]) -> Steps[int]:
        """Commit with `keys`, without the others that were claimed."""
        try:
            kept = set(keys)
            for some in _chunks([key for key in self._ours if key not in kept]):
                yield self._call(self._statements.delete(self._scope, some))
            # Some drivers commit nothing, and say nothing, where a statement had failed before.
            [[count]] = yield self._call(
                self._statements.count(self._scope, keys[0] if keys else ""), fetch=True
            )
            if keys and not count:
                raise TransactionLost(
                    "the listener rolled the transaction back that it was given; it is to raise instead"
                )
            yield self._handle.commit
        except Exception as problem:
            raise self._meaning(problem) from problem
        self.settled = True
        return 0

    def give_up(self) -> Steps[None]:
        """Roll back, if there is anything."""
        if not self.settled:
            yield self._handle.rollback
            self.settled = True

    def close(self) -> Steps[None]:
        """Let go of the connection; roll back first what nobody ended."""
        try:
            yield from self.give_up()
        finally:
            yield self._handle.close

    def carry_out(self, statements: Sequence[Statement]) -> Steps[int]:
        """Carry `statements` out and commit; how many rows the last one changed."""
        self.settled = False
        count = 0
        try:
            for statement in statements:
                count = yield self._call(statement)
            yield self._handle.commit
        except Exception as problem:
            raise self._meaning(problem) from problem
        self.settled = True
        return count

    def purge(self, seconds: float) -> Steps[int]:
        """Delete keys that are older; how many there were."""
        before = self._options.now_ms() - int(seconds * 1000)
        return (yield from self.carry_out([self._statements.purge(before)]))

    def _set_lock_timeout(self) -> Steps[None]:
        seconds = self._options.lock_seconds
        if seconds is None:
            return
        ms = max(1, math.ceil(seconds * 1000))
        if self._handle.dialect == "postgresql":
            yield partial(self._handle.execute, f"SET LOCAL lock_timeout = {ms}", self.no_parameters, False)
        elif self._handle.dialect == "sqlite":
            yield partial(self._handle.execute, f"PRAGMA busy_timeout = {ms}", self.no_parameters, True)
        else:
            raise WrongUse(
                f"lock_seconds is known for PostgreSQL and SQLite, not for {self._handle.dialect}; set a lock"
                " time-out where you open the connection"
            )

    def _insert(self, keys: Sequence[str]) -> Steps[set[str]]:
        now_ms = self._options.now_ms()
        new: set[str] = set()
        if not self._options.on_conflict:
            for key in keys:
                try:
                    yield self._call(self._statements.insert(self._scope, [key], now_ms, conflicts=False))
                except Exception as problem:
                    if not is_conflict(problem):
                        raise
                else:
                    new.add(key)
            return new
        for some in _chunks(keys):
            statement = self._statements.insert(self._scope, some, now_ms, conflicts=True)
            if len(some) == 1:
                count = yield self._call(statement)
                new.update(some if count > 0 else ())
            else:
                rows = yield self._call(statement, fetch=True)
                new.update(str(row[0]) for row in rows)
        return new

    @property
    def no_parameters(self) -> Any:
        """Parameters of a statement that has none."""
        return {} if self._statements.paramstyle in ("named", "pyformat") else ()

    def _call(self, statement: Statement, fetch: bool = False) -> Callable[[], Any]:
        return partial(self._handle.execute, *statement, fetch)

    def _meaning(self, problem: Exception) -> Exception:
        return meaning(problem, self._options.table, self._handle.paramstyle)


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), ROWS_MAX):
        yield keys[start : start + ROWS_MAX]
