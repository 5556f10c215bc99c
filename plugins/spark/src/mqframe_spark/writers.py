"""The writer for `format("mqframe")`: at least once, or exactly once where options ask for it."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from mqframe.core.errors import SettingError
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.writers import BatchWriter, StreamWriter, check_target


def batch_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> DataSourceWriter:
    """The writer that `options` ask for. Raises `SettingError` where it is to `overwrite`."""
    if overwrite:
        raise SettingError("topics cannot be overwritten: use mode('append')")
    check_target(options, schema, patient=False)
    if options.exactly_once:
        from mqframe_spark.exact.writers import ExactBatchWriter

        return ExactBatchWriter(options, schema)
    return BatchWriter(options, schema)


def stream_writer(options: SinkOptions, schema: StructType) -> DataSourceStreamWriter:
    """The writer that `options` ask for; made on the driver for each micro-batch, and for each commit.

    A topic keeps what it has: of the output mode complete each micro-batch appends the whole result, as
    Kafka's sink has it.
    """
    check_target(options, schema, patient=True)
    if options.exactly_once:
        from mqframe_spark.exact.writers import ExactStreamWriter

        return ExactStreamWriter(options, schema)
    return StreamWriter(options, schema)
