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
            raise AttributeError(f"pyspark cannot be imported: {problem}") from problem
        return DefaultSource
    raise AttributeError(f"module 'pyspark_mqframe' has no attribute {name!r}")
