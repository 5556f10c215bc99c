"""Functions over the columns of a topic: bodies decoded into columns, properties of the application.

from mqframe_spark.functions import json_body

orders.select(json_body("id long, cents long").alias("order"), "queue_offset")
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import pyarrow as pa

from mqframe.core.errors import SettingError
from mqframe.core.messages.properties import IDEMPOTENCE_KEY, RESERVED

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from mqframe_spark.decoding.avro_decoding import Framing

__all__ = ["avro_body", "json_body", "own_properties"]

OnError = Literal["null", "fail"]
_ON_ERROR: Final = ("null", "fail")
_CORRUPT: Final = "_mqframe_corrupt"


def json_body(
    schema: str | DataType,
    column: str | Column = "body",
    *,
    on_error: OnError = "null",
    options: Mapping[str, str] | None = None,
) -> Column:
    """The JSON in `column` as `schema` says: DDL text ("id long, cents long") or a type of Spark.

    Decoded by Spark's own `from_json`, whose `options` apply. `on_error`: "null" makes the whole value null
    where the text is no JSON or a field has another type; "fail" ends the query. Raises `SettingError` for a
    bad schema or option; needs an active session.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    _one_of("on_error", on_error, _ON_ERROR)
    given = dict(options or {})
    for name in given:
        if name.lower() in ("mode", "columnnameofcorruptrecord"):
            raise SettingError(f"json_body: option {name} is what on_error stands for")
    kind = _spark_type(schema)
    source = f.col(column) if isinstance(column, str) else column
    text = source.cast("string")
    if on_error == "fail":
        return f.from_json(text, cast("Any", kind), {**given, "mode": "FAILFAST"})
    given["mode"] = "PERMISSIVE"
    if not isinstance(kind, t.StructType):
        return f.from_json(text, cast("Any", kind), given)
    # Spark keeps the fields before the bad one; that a record is bad stands in a further field.
    whole = t.StructType([*kind.fields, t.StructField(_CORRUPT, t.StringType())])
    parsed = f.from_json(text, whole, {**given, "columnNameOfCorruptRecord": _CORRUPT})
    return f.when(parsed[_CORRUPT].isNull(), parsed.dropFields(_CORRUPT))


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
