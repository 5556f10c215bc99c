"""The writer for `format("mqframe")`: at least once, or exactly once where options ask for it."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.writers import BatchWriter, StreamWriter, check_target


def batch_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> DataSourceWriter:
    """The writer that `options` ask for."""
    check_target(options, schema, overwrite=overwrite, patient=False)
    if options.exactly_once:
        from mqframe_spark.exact.writers import ExactBatchWriter

        return ExactBatchWriter(options, schema)
    return BatchWriter(options, schema)


def stream_writer(options: SinkOptions, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
    """The writer that `options` ask for; made on the driver for each micro-batch, and for each commit."""
    check_target(options, schema, overwrite=overwrite, patient=True)
    if options.exactly_once:
        from mqframe_spark.exact.writers import ExactStreamWriter

        return ExactStreamWriter(options, schema)
    return StreamWriter(options, schema)
