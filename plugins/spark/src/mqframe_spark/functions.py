"""Functions over the columns of a topic: bodies decoded into columns, properties of the application.

from mqframe_spark.functions import json_body

orders.select(json_body("id long, cents long").alias("order"), "queue_offset")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import pyarrow as pa

from mqframe.core.errors import SettingError
from mqframe.core.messages.properties import IDEMPOTENCE_KEY, RESERVED
from mqframe_spark.decoding.json_reasons import json_reason

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

    from mqframe_spark.decoding.avro_decoding import Framing

__all__ = ["avro_body", "json_body", "own_properties"]

OnError = Literal["null", "fail"]
_ON_ERROR: Final = ("null", "fail")
JsonMode = Literal["permissive", "null", "strict"]
_JSON_MODES: Final = ("permissive", "null", "strict")
_CORRUPT: Final = "_mqframe_corrupt"
_CORRUPT_OPTION: Final = "columnnameofcorruptrecord"


def json_body(
    schema: str | DataType,
    column: str | Column = "body",
    *,
    mode: JsonMode = "permissive",
    reason: str = "",
    place: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> Column:
    """The JSON in `column` as `schema` says: DDL text ("id long, cents long") or a type of Spark.

    Decoded by Spark's own `from_json`, whose `options` apply. `mode`, for text that is no JSON or has a value
    of another type: "permissive": as `from_json`, such fields are null and the others stay; "null": the whole
    value is null; "strict": the query fails, with the field and its value, and what the columns `place` hold.
    `reason`: the name of a further field of a struct, which says why a body is bad and is null for a good
    one; Spark's own `_corrupt_record`, with the whole text, is filled where `schema` has it. Raises
    `SettingError` for a bad schema or option; needs an active session.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    _one_of("mode", mode, _JSON_MODES)
    given = dict(options or {})
    for name in given:
        if name.lower() == "mode":
            raise SettingError(f"json_body: option {name} is what the argument mode stands for")
    kind = _spark_type(schema)
    source = f.col(column) if isinstance(column, str) else column
    text = source.cast("string")
    if not isinstance(kind, t.StructType):
        if reason:
            raise SettingError(f"json_body: reason = {reason!r}: {kind.simpleString()} has no fields")
        given["mode"] = "FAILFAST" if mode == "strict" else "PERMISSIVE"
        return f.from_json(text, cast("Any", kind), given)
    if reason in kind.names:
        raise SettingError(f"json_body: reason = {reason!r}: the schema has a field of this name")
    if mode == "permissive" and not reason:
        return f.from_json(text, kind, given or None)  # Spark Connect takes no options that are empty
    given["mode"] = "PERMISSIVE"
    return _told(text, kind, given, mode, reason, place)


def _told(
    text: Column,
    kind: StructType,
    given: Mapping[str, str],
    mode: JsonMode,
    reason: str,
    place: Sequence[str],
) -> Column:
    """The struct that `text` holds, by `json_body` where it has to know which texts are bad."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    whole, corrupt = kind, _corrupt_field(given)
    if corrupt not in kind.names:
        whole, corrupt = t.StructType([*kind.fields, t.StructField(_CORRUPT, t.StringType())]), _CORRUPT
        given = {name: value for name, value in given.items() if name.lower() != _CORRUPT_OPTION}
        given[_CORRUPT_OPTION] = _CORRUPT
    parsed = f.from_json(text, whole, given)
    bad = text.isNotNull() & (parsed.isNull() | parsed[corrupt].isNotNull())
    value = parsed if whole is kind else parsed.dropFields(_CORRUPT)
    if mode == "null":
        value = f.when(~bad, value)
    why = json_reason(text, parsed, kind)
    if mode == "strict":
        where = [f.concat(f.lit(f"{name} = "), _text_of(name), f.lit(", ")) for name in place]
        failed = f.raise_error(f.concat(f.lit("json_body: "), *where, why))
        value = f.when(bad, failed).otherwise(value)
    if not reason:
        return value
    told = f.when(bad, why)
    empty = f.from_json(f.lit("{}"), kind)
    return f.when(text.isNotNull(), f.coalesce(value, empty).withField(reason, told))


def _text_of(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.coalesce(f.col(name).cast("string"), f.lit("null"))


def _corrupt_field(options: Mapping[str, str]) -> str:
    """The field of a schema that `from_json` puts bad text into."""
    named = [value for name, value in options.items() if name.lower() == _CORRUPT_OPTION]
    return named[0] if named else "_corrupt_record"


def avro_body(
    schema: str | Mapping[str, Any],
    column: str | Column = "body",
    *,
    framing: Framing = "plain",
    writers: Mapping[int, str | Mapping[str, Any]] | None = None,
    on_error: OnError = "null",
) -> Column:
    """The Avro value in `column` as `schema` says: JSON text, or what that stands for.

    `framing`: "plain": the value alone; "single_object": behind Avro's mark with the fingerprint of `schema`;
    "confluent": behind a zero byte and a schema id of four bytes. With `writers`, schemas by id, values are
    read with the one that they were written with and resolved to `schema`; without, all ids are taken for
    `schema`. `on_error`: "null" makes bad bodies null, "fail" ends the query. Decoded by fastavro in Spark's
    Python workers, in Arrow batches. Raises `SettingError` for a bad schema or option, and when fastavro is
    not installed; needs an active session.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.functions import arrow_udf

    if find_spec("fastavro") is None:
        raise SettingError(
            "avro_body needs fastavro, which is not installed;"
            ' install it with: pip install "mqframe-plugin-spark[avro]"'
        )
    from mqframe_spark.decoding.avro_decoding import FRAMINGS, AvroDecoder

    _one_of("framing", framing, FRAMINGS)
    _one_of("on_error", on_error, _ON_ERROR)
    if writers and framing != "confluent":
        raise SettingError(f"avro_body: writers are for framing = 'confluent', not {framing!r}")
    decoder = AvroDecoder(schema, framing, dict(writers or {}), on_error)

    def decode(bodies: pa.Array) -> pa.Array:
        return decoder.decode(bodies)

    # Spark looks at the hints; as texts it could not find them from within this function.
    decode.__annotations__ = {"bodies": pa.Array, "return": pa.Array}
    made = cast("Any", arrow_udf)(decode, returnType=decoder.type.spark)
    return cast("Column", made(f.col(column) if isinstance(column, str) else column))


def own_properties(*left_out: str, column: str | Column = "properties") -> Column:
    """The properties that the sender's application set: without those of the system, the idempotence key of
    the sink, and those called `left_out`. Needs an active session."""
    from pyspark.sql import functions as f

    names = (*sorted(RESERVED), IDEMPOTENCE_KEY, *left_out)
    source = f.col(column) if isinstance(column, str) else column
    return f.map_filter(source, lambda name, _: ~name.isin(*names))


def _spark_type(schema: str | DataType) -> DataType:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import DataType

    if isinstance(schema, DataType):
        return schema
    try:
        return DataType.fromDDL(schema)
    except PySparkException as problem:
        raise SettingError(f"json_body: schema = {schema!r}: {problem}") from problem


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(f"{name} = {value!r}: must be one of {', '.join(choices)}")
