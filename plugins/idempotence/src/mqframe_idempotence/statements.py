"""The statements of SQL stores, in the placeholders of each driver, and the table that they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

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


def ddl(table: str = TABLE) -> tuple[str, str]:
    """The statements that make the table and its index, for SQLite, PostgreSQL and what understands them.

    `scope`: name of the effect; `message_key`: the key, or its digest; `done_ms`: when it was claimed,
    milliseconds since 1970. Raises `WrongUse` for a name that is none.
    """
    checked_table(table)
    return (
        f"CREATE TABLE IF NOT EXISTS {table} ("
        f"scope VARCHAR({SCOPE_CHARACTERS_MAX}) NOT NULL, "
        f"message_key VARCHAR({KEY_CHARACTERS_MAX}) NOT NULL, "
        "done_ms BIGINT NOT NULL, "
        "PRIMARY KEY (scope, message_key))",
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
        """Insert `keys`; `conflicts`: known ones are left out, and of several the new ones returned."""
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

    def purge(self, before_ms: int) -> Statement:
        """Delete what was claimed before that."""
        return f"DELETE FROM {self.table} WHERE done_ms < {self._marks(1)}", self._bound([before_ms])

    def _marks(self, count: int, after: int = 0) -> str:
        return ", ".join(self._placeholder.format(after + number + 1) for number in range(count))

    def _bound(self, values: Sequence[object]) -> Any:
        if self._mapping:
            return {f"v{number}": value for number, value in enumerate(values, 1)}
        return tuple(values)
