"""An attempt within a database transaction: keys are rows, committed with the effect or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs

from mqframe_idempotence.driver_errors import is_conflict, meaning
from mqframe_idempotence.drivers import DIALECTS, MYSQL, POSTGRESQL, SQLITE
from mqframe_idempotence.errors import StoreBusy, TransactionLost, WrongUse
from mqframe_idempotence.handles import Handle
from mqframe_idempotence.statements import ROWS_MAX, Statement, Statements, ddl
from mqframe_idempotence.steps import Steps
from mqframe_idempotence.stores import Claim

_PURGED_ROWS_MAX: Final = 1000
_BEGIN_ANEW: Final = "ROLLBACK AND CHAIN"
"""Also where the application has begun the transaction itself, or set its isolation."""


@attrs.frozen
class TableOptions:
    """How a store uses its table.

    `on_conflict`: whether the database knows ON CONFLICT DO NOTHING, not looked at on MySQL; `lock_seconds`:
    how long to wait for another transaction, `None`: as the connection has it.
    """

    table: str
    on_conflict: bool
    lock_seconds: float | None
    now_ms: Callable[[], int]


class Transaction:
    """One transaction on `handle`. Methods give the steps of an `Attempt`'s methods."""

    def __init__(self, handle: Handle, scope: str, options: TableOptions) -> None:
        self.settled = True
        """Whether nothing is open: it was committed, rolled back, or not begun."""
        self._handle = handle
        self._scope = scope
        self._options = options
        self._statements = Statements(options.table, handle.paramstyle)
        self._ours: list[str] = []

    @property
    def session(self) -> Any:
        """The connection or session, from `claim` on."""
        return self._handle.session

    def claim(self, keys: Sequence[str]) -> Steps[dict[str, Claim]]:
        """Insert `keys`; waits while another transaction has inserted one of them and not ended."""
        self.settled = False
        try:
            yield from self._set_lock_timeout()
            # In one order everywhere, or two batches might wait for each other.
            new = yield from self._insert(sorted(keys))
            yield from self._refuse_autocommit(sorted(new))
        except Exception as problem:
            raise self._meaning(problem) from problem
        self._handle.is_replaceable = False  # from now on the listener works in it
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
                    "the listener rolled the transaction back that it was given, or kept an error to itself"
                    " with which the database did; it is to raise instead"
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

    def create_table(self) -> Steps[int]:
        """Make the table and its index where they do not exist."""
        dialect = self._handle.dialect
        texts = ddl(self._options.table, dialect if dialect in DIALECTS else POSTGRESQL)
        if dialect == MYSQL:  # drivers for asyncio would warn of a table that is there
            texts = ("SET sql_notes = 0", *texts, "SET sql_notes = 1")
        return (yield from self.carry_out([(text, self._no_parameters) for text in texts]))

    def purge(self, seconds: float) -> Steps[int]:
        """Delete keys that are older; how many there were."""
        before = self._options.now_ms() - int(seconds * 1000)
        if self._handle.dialect != MYSQL:
            return (yield from self.carry_out([self._statements.purge(before)]))
        # In one transaction it would lock, to its end, all that it reads, and keep other keys from coming in.
        total, count = 0, _PURGED_ROWS_MAX
        while count == _PURGED_ROWS_MAX:
            count = yield from self.carry_out([self._statements.purge(before, _PURGED_ROWS_MAX)])
            total += count
        return total

    def _set_lock_timeout(self) -> Steps[None]:
        seconds = self._options.lock_seconds
        if seconds is None:
            return
        ms = max(1, math.ceil(seconds * 1000))
        dialect = self._handle.dialect
        if dialect == POSTGRESQL:
            yield self._call((f"SET LOCAL lock_timeout = {ms}", self._no_parameters))
        elif dialect == SQLITE:
            yield self._call((f"PRAGMA busy_timeout = {ms}", self._no_parameters), fetch=True)
        elif dialect == MYSQL:
            whole = math.ceil(ms / 1000)
            text = f"SET innodb_lock_wait_timeout = {whole}, lock_wait_timeout = {whole}"
            yield self._call((text, self._no_parameters))
        else:
            raise WrongUse(
                f"lock_seconds is known for PostgreSQL, MySQL, MariaDB and SQLite, not for {dialect}; set a"
                " lock time-out where you open the connection"
            )

    def _refuse_autocommit(self, new: Sequence[str]) -> Steps[None]:
        """After `new` were inserted: whether they would be taken back. Raises `WrongUse`."""
        if not new or not self._handle.commits_by_itself():
            return
        for some in _chunks(new):
            yield self._call(self._statements.delete(self._scope, some))
        hint = "; on MySQL the engine of the table is to be InnoDB" if self._handle.dialect == MYSQL else ""
        raise WrongUse(
            "the connection commits by itself, so that key and effect would not be one transaction;"
            f" open it without autocommit{hint}"
        )

    def _insert(self, keys: Sequence[str]) -> Steps[set[str]]:
        if self._handle.dialect == MYSQL:
            return (yield from self._insert_unknown(keys))
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

    def _insert_unknown(self, keys: Sequence[str]) -> Steps[set[str]]:
        """Insert those that are not there, where nothing says which of several were.

        A refused insert leaves locks behind, which on MySQL with REPEATABLE READ keep further keys out for as
        long as the listener runs. So it is taken back whole; known keys are looked up without locks.
        """
        left = list(keys)
        while left:
            try:
                for some in _chunks(left):
                    now_ms = self._options.now_ms()
                    yield self._call(self._statements.insert(self._scope, some, now_ms, conflicts=False))
                    yield from self._refuse_autocommit(some)
                break
            except Exception as problem:
                if not is_conflict(problem):
                    raise
            yield self._call((_BEGIN_ANEW, self._no_parameters))
            known = yield from self._find(left)
            left = [key for key in left if key not in known]
            if left:  # or the listener would read what was there before it waited
                yield self._call((_BEGIN_ANEW, self._no_parameters))
        return set(left)

    def _find(self, keys: Sequence[str]) -> Steps[set[str]]:
        """Those of `keys` that were committed, of which there are some."""
        found: set[str] = set()
        for some in _chunks(keys):
            rows = yield self._call(self._statements.known(self._scope, some), fetch=True)
            found.update(row[0].decode() if isinstance(row[0], bytes) else row[0] for row in rows)
        table = self._options.table
        others = sorted(found.difference(keys))
        if others:
            raise WrongUse(
                f"table {table} takes key {others[0]!r} for another; its columns are to have the collation"
                f" utf8mb4_bin, as `mqframe idempotence ddl --table {table} --dialect {MYSQL}` prints them"
            )
        if not found:
            raise StoreBusy(
                f"table {table} refused keys as known that it does not have: they were deleted meanwhile, or"
                " its collation is not utf8mb4_bin; the message comes again"
            )
        return found

    @property
    def _no_parameters(self) -> Any:
        """Parameters of a statement that has none."""
        return {} if self._statements.paramstyle in ("named", "pyformat") else ()

    def _call(self, statement: Statement, fetch: bool = False) -> Callable[[], Any]:
        return partial(self._handle.execute, *statement, fetch)

    def _meaning(self, problem: Exception) -> Exception:
        return meaning(problem, self._options.table, self._handle.paramstyle)


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), ROWS_MAX):
        yield keys[start : start + ROWS_MAX]
