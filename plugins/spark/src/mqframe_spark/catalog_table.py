"""Topics as tables of Spark's catalog: `CREATE TABLE t USING mqframe OPTIONS (…)`.

Spark keeps a table's options in its catalog, but hands them to a Python source only while the table is made.
What it hands over whenever the table is used is the schema: so the options stand there, in the metadata of
the first column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_PREFIX: Final = "option."
_NOTE: Final = "mqframe.options"
_SECRETS: Final = ("secretkey", "securitytoken")


def is_table(given: Mapping[str, str]) -> bool:
    """Whether Spark handed over `given` to make a table."""
    lower = {name.lower() for name in given}
    return "provider" in lower and "owner" in lower


def own_options(given: Mapping[str, str]) -> dict[str, str]:
    """Those of `given` that the maker of a table wrote as its OPTIONS.

    Spark hands each of them over twice, the second time with a prefix, next to its own notes (owner,
    provider, location, comment) and the table's properties. Raises `SettingError` for secrets, which would be
    shown to all who read the table.
    """
    lower = {name.lower() for name in given}
    own = {name: value for name, value in given.items() if f"{_PREFIX}{name}".lower() in lower}
    for name in own:
        if name.lower() in _SECRETS:
            raise SettingError(
                f"option {name}: the options of a table are shown to all who read it; leave it out, and "
                "read with keys through a temporary view: CREATE TEMPORARY VIEW … USING mqframe OPTIONS (…)"
            )
    return own


def with_options(schema: StructType, own: Mapping[str, str]) -> StructType:
    """`schema` with `own` noted in it."""
    from pyspark.sql.types import StructField, StructType

    first, *others = schema.fields
    noted = StructField(first.name, first.dataType, first.nullable, {_NOTE: json.dumps(dict(own))})
    return StructType([noted, *others])


def options_for(given: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """The options that count for reading `schema`: those noted in it, before them `given`.

    Raises `SettingError` where a table has none: one whose columns its maker wrote down.
    """
    for field in schema.fields:
        if _NOTE in field.metadata:
            more = {name.lower() for name in given}
            noted: dict[str, str] = json.loads(field.metadata[_NOTE])
            return {**{name: value for name, value in noted.items() if name.lower() not in more}, **given}
    if not given:
        raise SettingError(
            "there are no options: Spark hands over none for a table whose columns were written down; make "
            "it without them, CREATE TABLE name USING mqframe OPTIONS (…), and choose columns by the option "
            "columns"
        )
    return dict(given)


def plain(schema: StructType) -> StructType:
    """`schema` without metadata."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, field.nullable) for field in schema.fields])
