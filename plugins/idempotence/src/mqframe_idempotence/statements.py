"""The statements of SQL stores, in the placeholders of each driver, and the table that they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from mqframe_idempotence.drivers import DIALECTS, MYSQL, POSTGRESQL, dialect_named
from mqframe_idempotence.errors import WrongUse
from mqframe_idempotence.keys import KEY_CHARACTERS_MAX, SCOPE_CHARACTERS_MAX

TABLE: Final = "mqframe_idempotence"
ROWS_MAX: Final = 250
"""Keys in one statement at most: older SQLites take 999 values."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
_PLACEHOLDERS: Final = {
    "qmark": "?",
    "format": "%s",
    "numeric": ":{}",
    "named": ":v{}",
    "pyformat": "%(v{})s",
}
PARAMSTYLES: Final = tuple(_PLACEHOLDERS)

Statement = tuple[str, Any]
"""Text, and parameters: a tuple or a mapping, as the driver's style wants."""


def checked_table(table: str) -> str:
    """`table`, a plain name, with a schema in front or not. Raises `WrongUse`."""
    if not _NAME.fullmatch(table):
        raise WrongUse(f"table {table!r} is no plain name of a table, such as {TABLE!r} or 'shop.{TABLE}'")
    return table


def checked_dialect(name: str) -> str:
    """The dialect called `name`. Raises `WrongUse` when it is none that is known."""
    dialect = dialect_named(name)
    if dialect not in DIALECTS:
        raise WrongUse(f"dialect {name!r} is none of {', '.join(DIALECTS)}; MariaDB's is {MYSQL!r}")
    return dialect


def ddl(table: str = TABLE, dialect: str = POSTGRESQL) -> tuple[str, ...]:
    """The statements that make the table and its index.

    `dialect`: "postgresql" and "sqlite", whose statements are the same, for them and what understands them;
    "mysql" for MySQL and MariaDB. `scope`: name of the effect; `message_key`: the key, or its digest;
    `done_ms`: when it was claimed, milliseconds since 1970. Raises `WrongUse` for names that are none.
    """
    checked_table(table)
    columns = (
        f"scope VARCHAR({SCOPE_CHARACTERS_MAX}) NOT NULL, "
        f"message_key VARCHAR({KEY_CHARACTERS_MAX}) NOT NULL, "
        "done_ms BIGINT NOT NULL, "
        "PRIMARY KEY (scope, message_key)"
    )
    if checked_dialect(dialect) == MYSQL:
        # Collations that are the default there take "Order" for "order". A key has 1,000 bytes at most, of
        # which older formats of rows index 767.
        return (
            f"CREATE TABLE IF NOT EXISTS {table} ({columns}, KEY done_ms (done_ms)) "
            "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
        )
    return (
        f"CREATE TABLE IF NOT EXISTS {table} ({columns})",
        f"CREATE INDEX IF NOT EXISTS {table.replace('.', '_')}_done ON {table} (done_ms)",
    )


class Statements:
    """Statements on `table` in `paramstyle` of PEP 249. Raises `WrongUse` for what is neither."""

    def __init__(self, table: str, paramstyle: str) -> None:
        if paramstyle not in _PLACEHOLDERS:
            raise WrongUse(f"paramstyle {paramstyle!r} is none of {', '.join(PARAMSTYLES)}")
        self.table = checked_table(table)
        self.paramstyle = paramstyle
        self._mapping = paramstyle in ("named", "pyformat")
        self._placeholder = _PLACEHOLDERS[paramstyle]

    def insert(self, scope: str, keys: Sequence[str], now_ms: int, *, conflicts: bool) -> Statement:
        """Insert `keys`; `conflicts`: known ones are left out, and of several the new ones returned (not on
        MySQL)."""
        values: list[object] = []
        for key in keys:
            values += (scope, key, now_ms)
        rows = ", ".join(f"({self._marks(3, 3 * number)})" for number in range(len(keys)))
        text = f"INSERT INTO {self.table} (scope, message_key, done_ms) VALUES {rows}"
        if conflicts:
            text += " ON CONFLICT DO NOTHING"
            if len(keys) > 1:
                text += " RETURNING message_key"
        return text, self._bound(values)

    def delete(self, scope: str, keys: Sequence[str]) -> Statement:
        """Delete `keys`."""
        text = f"DELETE FROM {self.table} WHERE scope = {self._marks(1)}"
        return f"{text} AND message_key IN ({self._marks(len(keys), 1)})", self._bound([scope, *keys])

    def count(self, scope: str, key: str) -> Statement:
        """How many rows `key` has, 0 or 1."""
        text = f"SELECT COUNT(*) FROM {self.table} WHERE scope = {self._marks(1)}"
        return f"{text} AND message_key = {self._marks(1, 1)}", self._bound([scope, key])

    def known(self, scope: str, keys: Sequence[str]) -> Statement:
        """Those of `keys` that there are."""
        text = f"SELECT message_key FROM {self.table} WHERE scope = {self._marks(1)}"
        return f"{text} AND message_key IN ({self._marks(len(keys), 1)})", self._bound([scope, *keys])

    def purge(self, before_ms: int, rows_max: int | None = None) -> Statement:
        """Delete what was claimed before that; `rows_max`: so many rows at most, the oldest (MySQL)."""
        text = f"DELETE FROM {self.table} WHERE done_ms < {self._marks(1)}"
        if rows_max is not None:
            text += f" ORDER BY done_ms LIMIT {rows_max}"
        return text, self._bound([before_ms])

    def _marks(self, count: int, after: int = 0) -> str:
        return ", ".join(self._placeholder.format(after + number + 1) for number in range(count))

    def _bound(self, values: Sequence[object]) -> Any:
        if self._mapping:
            return {f"v{number}": value for number, value in enumerate(values, 1)}
        return tuple(values)
