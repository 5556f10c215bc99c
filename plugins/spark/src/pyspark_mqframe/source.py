"""The class that Spark registers under the name "mqframe".

It imports nothing but Spark's own interface, so that whatever is wrong with this installation is told to
those who use it, and to nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from mqframe_spark.source.options import SourceOptions


class DefaultSource(DataSource):
    """Topics of a RocketMQ-compatible cluster.

    Options: those of `mqframe_spark.source.options` to read, of `mqframe_spark.sink.options` to write. Raises
    `SettingError` for unknown options and bad values: when the DataFrame to read is made, and before the
    first task of one to write.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "mqframe"

    def schema(self) -> StructType:
        """The columns, the same for every topic, or those of them that are wanted."""
        from mqframe_spark.catalog_table import is_table, own_options, with_options
        from mqframe_spark.records.schema import spark_schema
        from mqframe_spark.source.options import parse_options

        if not is_table(self.options):
            return spark_schema(parse_options(self.options).columns)
        own = own_options(self.options)
        return with_options(spark_schema(parse_options(own).columns), own)

    def _settings(self, schema: StructType) -> SourceOptions:
        """The options, as a reader understands them."""
        from mqframe_spark.catalog_table import options_for
        from mqframe_spark.source.options import parse_options

        return parse_options(options_for(self.options, schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads what the topic holds when the query is planned."""
        from mqframe_spark.catalog_table import plain
        from mqframe_spark.source.batch import BatchReader, FilteredBatchReader, pushes_filters

        settings = self._settings(schema)
        kind = FilteredBatchReader if settings.push_filters and pushes_filters() else BatchReader
        return kind(settings, plain(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Reads on as messages come. Raises `ImportError` that names versions where PySpark is too old."""
        from mqframe_spark.catalog_table import plain

        try:
            from mqframe_spark.source.stream import StreamReader
        except ImportError as problem:
            if problem.name != "pyspark.sql.streaming.datasource":
                raise
            from pyspark import __version__ as version

            raise ImportError(
                f"streams of mqframe need PySpark 4.2 or newer, and this is {version}: before 4.2 a Python "
                "source can keep neither maxOffsetsPerTrigger nor maxBytesPerTrigger, cannot stop where "
                "trigger(availableNow=True) wants it, and cannot report what waits; batches can be read"
            ) from problem
        return StreamReader(self._settings(schema), plain(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Sends rows as messages."""
        from mqframe_spark.sink.options import parse_sink_options
        from mqframe_spark.writers import batch_writer

        return batch_writer(parse_sink_options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Sends the rows of each micro-batch as messages."""
        from mqframe_spark.sink.options import parse_sink_options
        from mqframe_spark.writers import stream_writer

        return stream_writer(parse_sink_options(self.options), schema)
