"""What Spark tells a task that writes: which part of the rows it has, of which query and micro-batch."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

from mqframe.core.errors import FixError

QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"
"""Names under which Spark tells tasks of a stream which query and batch they work for."""


def partition() -> int:
    """The number of this task's partition, 0 outside of Spark."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def told(name: str, option: str) -> str:
    """What Spark says under `name`. Raises `FixError` when it says nothing; `option` is what needs it."""
    context = TaskContext.get()
    value = None if context is None else context.getLocalProperty(name)
    if value is None:
        raise FixError(f"option {option} = 'true': Spark does not tell its tasks {name}; leave it out")
    return value
