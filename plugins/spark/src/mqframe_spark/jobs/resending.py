"""Sends dead letters to the group that gave them up, from tasks: singly, as retry topics take no batches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import pyarrow as pa
from mqframe_admin.rules.dead_letters import DeadLetter, dead_letter

from mqframe.core.messages.names import dead_letter_topic, retry_topic
from mqframe_spark.jobs.clusters import open_admin
from mqframe_spark.retrying import retrying

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mqframe import Admin

AT_ONCE: Final = 32
"""Dead letters that are held in memory; after the first of them it is looked where its copy came to lie."""


@attrs.frozen
class Resend:
    """What a task does with the marks of dead letters, "group@id".

    `cluster`: options that say which it is, and how to get in; `again`: also those of which a copy is there.
    """

    cluster: Mapping[str, str]
    group: str
    again: bool

    def __call__(self, marks: pa.Array) -> pa.Array:
        """Send a copy of each one; 1 for each. Raises as `Admin.dead_letters.resend` does."""
        if len(marks):
            with open_admin(self.cluster) as admin:
                for start in range(0, len(marks), AT_ONCE):
                    letters = [self._read(admin, mark) for mark in marks.slice(start, AT_ONCE).to_pylist()]
                    self._send(admin, letters)
        return pa.array([1] * len(marks), pa.int64())

    def _read(self, admin: Admin, mark: str) -> DeadLetter:
        place = mark.rpartition("@")[2], dead_letter_topic(self.group)
        return dead_letter(self.group, retrying(lambda: admin.messages.by_id(*place)))

    def _send(self, admin: Admin, letters: list[DeadLetter]) -> None:
        send = partial(admin.dead_letters.resend, letters, again=self.again)
        if self.again:
            send()  # once: a second try could not tell the copies of the first
        else:
            retrying(send)


def resend(marks: DataFrame, task: Resend) -> dict[str, int]:
    """Send the dead letters that the only column of `marks` names; how many that are, by topic."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.functions import arrow_udf

    def send(column: pa.Array) -> pa.Array:
        return task(column)

    # Spark looks at the hints; as texts it could not find them from within this function.
    send.__annotations__ = {"column": pa.Array, "return": pa.Array}
    made = cast("Any", arrow_udf)(send, returnType="long").asNondeterministic()
    [row] = (
        marks.select(made(f.col(marks.columns[0])).alias("sent")).agg(f.sum("sent").alias("sent")).collect()
    )
    return {retry_topic(task.group): row["sent"]} if row["sent"] else {}
