"""Makes `format("mqframe")` known to Spark.

Spark imports every top-level package named `pyspark_*` and takes its `DefaultSource`; one that fails to
import hides all Python sources of the installation. So nothing is imported here until somebody asks for it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        try:
            from pyspark_mqframe.source import DefaultSource
        except ImportError as problem:
            if problem.name == "pyspark.sql.datasource":
                # No Spark asks that has no Python sources; a user does.
                from pyspark import __version__ as version

                raise ImportError(
                    f"mqframe needs PySpark 4.2 or newer, and this is {version}: Python data sources came "
                    "with 4.0, streams that keep limits and stop at availableNow with 4.2"
                ) from problem
            raise AttributeError(f"pyspark cannot be imported: {problem}") from problem
        return DefaultSource
    raise AttributeError(f"module 'pyspark_mqframe' has no attribute {name!r}")
