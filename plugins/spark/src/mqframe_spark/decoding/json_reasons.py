"""Why the text of a body is not what a schema says, as a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

_SHOWN_CHARACTERS: Final = 100
_BREAKING_A_PATH: Final = frozenset("'?")


def json_reason(text: Column, parsed: Column, schema: StructType) -> Column:
    """Why `parsed`, which `from_json` made of `text`, is not all that `text` says.

    That is: the text is no JSON, or no object; or the first field of `schema` that is null though the text
    has a value there, with that value. Of use where `from_json` found the text bad. Spark does not tell.
    """
    from pyspark.sql import functions as f

    whole = f.get_json_object(text, "$")
    return f.coalesce(
        f.when(whole.isNull(), f.concat(f.lit("no JSON: "), _shown(text))),
        f.when(~f.ltrim(text).startswith("{"), f.concat(f.lit("no JSON object: "), _shown(text))),
        *_fields(text, parsed, schema, "$", ""),
        f.concat(f.lit("not as the schema says: "), _shown(text)),
    )


def _fields(text: Column, parsed: Column, schema: StructType, path: str, place: str) -> Iterator[Column]:
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    for field in schema.fields:
        if not _BREAKING_A_PATH.isdisjoint(field.name):
            continue
        inner, name = f"{path}['{field.name}']", f"{place}{field.name}"
        there, value = f.get_json_object(text, inner), parsed.getField(field.name)
        told = f"field {name} is no {field.dataType.simpleString()}: "
        yield f.when(there.isNotNull() & value.isNull(), f.concat(f.lit(told), _shown(there)))
        if isinstance(field.dataType, t.StructType):
            yield from _fields(text, value, field.dataType, inner, f"{name}.")


def _shown(text: Column) -> Column:
    from pyspark.sql import functions as f

    short = f.concat(f.substring(text, 1, _SHOWN_CHARACTERS), f.lit("…"))
    return f.when(f.length(text) > _SHOWN_CHARACTERS, short).otherwise(text)
