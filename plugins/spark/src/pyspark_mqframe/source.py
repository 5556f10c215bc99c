"""The class that Spark registers under the name "mqframe".

It imports nothing but Spark's own interface, so that whatever is wrong with this installation is told to
those who use it, and to nobody else.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """Topics of a RocketMQ-compatible cluster. Options: `mqframe_spark.options.SourceOptions`.

    Raises `SettingError` for unknown options and bad values, when the DataFrame is made.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "mqframe"

    def __init__(self, options: MutableMapping[str, str]) -> None:
        from mqframe_spark.options import parse_options

        super().__init__(options)
        self.settings = parse_options(options)

    def schema(self) -> StructType:
        """The columns, the same for every topic, or those of them that are wanted."""
        from mqframe_spark.schema import spark_schema

        return spark_schema(self.settings.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads what the topic holds when the query is planned."""
        from mqframe_spark.batch import BatchReader

        return BatchReader(self.settings, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Reads on as messages come."""
        from mqframe_spark.stream import StreamReader

        return StreamReader(self.settings, schema)
