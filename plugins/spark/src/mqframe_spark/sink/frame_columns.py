"""Which columns a frame to write may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe_spark.kafka_options import instead_of_column
from mqframe_spark.records.schema import ARROW_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from mqframe_spark.sink.options import SinkOptions

_TEXT: Final = ("string", "varchar", "char")
_WHOLE: Final = ("byte", "short", "integer", "long")

SINK_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "body": (*_TEXT, "binary"),
    "value": (*_TEXT, "binary"),
    "topic": _TEXT,
    "tags": _TEXT,
    "keys": (*_TEXT, "array<string>"),
    "properties": ("map<string,string>",),
    "sharding_key": (*_TEXT, *_WHOLE, "boolean"),
    "delay_seconds": (*_WHOLE, "float", "double", "decimal"),
    "delay_level": ("byte", "short", "integer"),
    "deliver_at": ("timestamp",),
    "flag": ("byte", "short", "integer"),
    "idempotence_key": _TEXT,
}
"""Columns by name, and the types that they may have. `value` is another name of `body`."""

DELAYS: Final = ("delay_seconds", "delay_level", "deliver_at")

FROM_BROKERS: Final = tuple(name for name in ARROW_SCHEMA.names if name not in SINK_COLUMNS)
"""Columns of a topic that was read which nobody can set."""


def check_columns(schema: StructType, options: SinkOptions) -> None:
    """Raise `SettingError` naming a column of `schema` that cannot be written or contradicts an option."""
    names = schema.names
    for field in schema.fields:
        _check_column(field.name, _kind(field.dataType), options)
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise SettingError(f"column {doubles[0]} is there twice")
    if ("body" in names) == ("value" in names):
        what = "body and value are both there" if "body" in names else "body is missing"
        raise SettingError(f"column {what}; name one of them, text or binary")
    if "topic" not in names and not options.topic:
        raise SettingError("option topic is missing, and there is no column topic; give one of them")
    if "topic" in names and options.topic and not options.ignore_columns:
        raise SettingError(
            f"option topic = {options.topic!r} and a column topic contradict each other; drop one of them, "
            "or set ignoreColumns = 'true' to have the option count"
        )
    delayed = [name for name in DELAYS if name in names]
    if options.exactly_once and delayed:
        raise SettingError(
            f"column {delayed[0]} and option exactlyOnce = 'true' contradict each other: brokers take the "
            "delay off a message of a transaction"
        )


def _check_column(name: str, kind: str, options: SinkOptions) -> None:
    allowed = SINK_COLUMNS.get(name)
    if allowed is None:
        if name in FROM_BROKERS:
            if options.ignore_columns:
                return
            raise SettingError(
                f"column {name} is the broker's to set; drop it, or set ignoreColumns = 'true'"
            )
        meant = instead_of_column(name) or did_you_mean(name.lower(), SINK_COLUMNS, most=1, cutoff=0.7)
        told = f"{meant} A frame" if meant else "a frame"
        raise SettingError(f"column {name} is unknown; {told} to write may have {', '.join(SINK_COLUMNS)}")
    if kind not in allowed:
        raise SettingError(f"column {name} is {kind}; it must be {' or '.join(allowed)}")


def _kind(kind: object) -> str:
    """The name of a Spark type, without what does not count here."""
    from pyspark.sql import types as t

    if isinstance(kind, t.ArrayType):
        return f"array<{_kind(kind.elementType)}>"
    if isinstance(kind, t.MapType):
        return f"map<{_kind(kind.keyType)},{_kind(kind.valueType)}>"
    assert isinstance(kind, t.DataType)
    return kind.typeName()
