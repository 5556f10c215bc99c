"""Records as the batch that was asked for: of the tags that are wanted, with the columns that are wanted."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import MessageQueue
from mqframe_spark.records.arrays import texts_of
from mqframe_spark.records.gathering import Offsets
from mqframe_spark.records.record_columns import record_batch


def selected_batch(
    data: pa.Buffer,
    starts: Offsets,
    sizes: Offsets,
    physical: Offsets,
    queue: MessageQueue,
    tags: TagFilter,
    columns: tuple[str, ...],
    offsets: Offsets | None = None,
) -> pa.RecordBatch:
    """The records of `queue` at `starts` in `data`, with commit-log offsets `physical`, as `columns`.

    `offsets`: the queue offsets that they must have. Queue entries and brokers compare hashes of tags only,
    so the tags themselves are looked at, too. Raises `RecordError`.
    """
    if not tags.tags:
        return record_batch(
            data, starts, sizes, physical, queue.topic, queue.broker_name, columns, offsets=offsets
        )
    more = columns if "tags" in columns else (*columns, "tags")
    batch = record_batch(data, starts, sizes, physical, queue.topic, queue.broker_name, more, offsets=offsets)
    return batch.filter(pc.is_in(batch.column("tags"), texts_of(tags.tags, pa.string()))).select(
        list(columns)
    )
