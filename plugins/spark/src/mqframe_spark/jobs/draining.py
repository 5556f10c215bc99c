"""Moves a backlog into a topic with more queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.checkpoints import committed_offsets
from mqframe_spark.jobs.clusters import (
    check_group_rests,
    check_target,
    group_offsets,
    make_topic,
    move_group,
    open_admin,
)
from mqframe_spark.jobs.copying import COPIED_COLUMNS, connection, copies, not_before
from mqframe_spark.jobs.transferring import transfer
from mqframe_spark.jobs.watching import StopRequest, Tell, Totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_AT_ONCE: Final = 1_000_000
"""Messages of one micro-batch. No more: beyond that a queue is read by several tasks, and loses its order."""


@attrs.frozen(kw_only=True)
class Drain:
    """What to move where.

    `source`: options of the source, without topic and bounds. `group`: whose backlog it is: from where that
    group is, and, unless `keep_offsets`, the group goes on behind it; without one, from `starting` on.
    `queues`: how many `into` gets on each broker when it has to be made. `sharding_key`: SQL expression over
    the columns; messages that have the same key keep their order. `exactly_once`: whether the sink is.
    """

    source: Mapping[str, str]
    topic: str
    into: str
    checkpoint: str
    group: str = ""
    starting: str = "earliest"
    keep_offsets: bool = False
    queues: int | None = None
    sharding_key: str = ""
    exactly_once: bool = True
    rows_at_once: int = ROWS_AT_ONCE

    def reading(self) -> dict[str, str]:
        """Options of the source for what is to be moved."""
        bound = f"group:{self.group}" if self.group else self.starting
        return {**self.source, "topic": self.topic, "startingOffsets": bound}

    def writing(self) -> dict[str, str]:
        """Options of the sink."""
        return {
            **connection(self.source),
            "topic": self.into,
            "exactlyOnce": str(self.exactly_once).lower(),
        }


def check_drain(options: Drain) -> bool:
    """Whether the topic to drain into has to be made. Raises `FixError` when the job cannot be done."""
    if options.into == options.topic:
        raise SettingError(f"--into {options.into}: is the topic that is to be drained; name another one")
    if not 0 < options.rows_at_once <= ROWS_AT_ONCE:
        raise SettingError(f"--rows-at-once {options.rows_at_once}: must be 1 to {ROWS_AT_ONCE}")
    with open_admin(options.source) as admin:
        if options.group and not options.keep_offsets:
            check_group_rests(admin, options.group)
        return check_target(admin, "--into", options.into, options.queues)


def drain(
    spark: SparkSession, options: Drain, *, tell: Tell | None = None, stop: StopRequest | None = None
) -> Totals:
    """Copy everything from where the backlog begins to where the queues end now, then move the group on.

    The progress is in the checkpoint: started again, the job goes on behind what was copied, and with
    `exactly_once` nothing is there twice. What arrives meanwhile is left for the next time. Raises
    `FixError` for a topic or group that is not there, before anything is written.
    """
    if check_drain(options):
        assert options.queues is not None
        with open_admin(options.source) as admin:
            make_topic(admin, options.into, options.queues)
    reading = {
        **options.reading(),
        "columns": ",".join((*COPIED_COLUMNS, "broker", "queue_id", "queue_offset")),
        "maxOffsetsPerTrigger": str(options.rows_at_once),
    }
    # The checkpoint knows nothing of what the group consumed by itself since the job ran last.
    consumed = group_offsets(options.reading(), options.group) if options.group else {}
    totals = transfer(
        spark,
        reading,
        lambda frame: copies(not_before(frame, consumed), sharding_key=options.sharding_key),
        options.writing(),
        options.checkpoint,
        tell=tell,
        stop=stop,
    )
    if options.group and not options.keep_offsets:
        move_group(options.reading(), options.group, committed_offsets(spark, options.checkpoint))
    return totals
