"""Copies what was stored between two moments into another topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.clusters import check_target, make_topic, open_admin, waiting
from mqframe_spark.jobs.copying import COPIED_COLUMNS, connection, copies
from mqframe_spark.jobs.draining import ROWS_AT_ONCE
from mqframe_spark.jobs.progress import WRITTEN
from mqframe_spark.jobs.transferring import transfer
from mqframe_spark.jobs.watching import StopRequest, Tell, Totals
from mqframe_spark.source.bounds import parse_time
from mqframe_spark.zones import SESSION_ZONE, in_zone, zone_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@attrs.frozen(kw_only=True)
class Replay:
    """What to copy where. `begin`, `end`: texts of moments, the latter not included; the other fields are
    those of `Drain`."""

    source: Mapping[str, str]
    topic: str
    into: str
    begin: str
    end: str
    checkpoint: str
    queues: int | None = None
    sharding_key: str = ""
    exactly_once: bool = True
    rows_at_once: int = ROWS_AT_ONCE

    def reading(self) -> dict[str, str]:
        """Options of the source for what is to be copied."""
        return {
            **self.source,
            "topic": self.topic,
            "startingTimestamp": self.begin,
            "endingTimestamp": self.end,
        }

    def writing(self) -> dict[str, str]:
        """Options of the sink."""
        return {
            **connection(self.source),
            "topic": self.into,
            "exactlyOnce": str(self.exactly_once).lower(),
        }


def moment_ms(option: str, text: str) -> int:
    """Milliseconds since 1970 of a moment as users write it. Raises `SettingError` naming `option`."""
    try:
        return parse_time(text).timestamp_ms
    except SettingError as problem:
        raise SettingError(f"{option} {text}: {problem}") from None


def check_replay(options: Replay) -> bool:
    """Whether the topic to copy into has to be made. Raises `FixError` when the job cannot be done."""
    if moment_ms("--from", options.begin) >= moment_ms("--to", options.end):
        raise SettingError(f"--from {options.begin} does not come before --to {options.end}")
    if options.into == options.topic:
        raise SettingError(
            f"--into {options.into}: is the topic that is to be replayed; its consumers would get what is "
            "copied and what comes meanwhile mixed up, so name another one"
        )
    if not 0 < options.rows_at_once <= ROWS_AT_ONCE:
        raise SettingError(f"--rows-at-once {options.rows_at_once}: must be 1 to {ROWS_AT_ONCE}")
    with open_admin(options.source) as admin:
        return check_target(admin, "--into", options.into, options.queues)


def replay(
    spark: SparkSession, options: Replay, *, tell: Tell | None = None, stop: StopRequest | None = None
) -> Totals:
    """Copy what is there of the time from `begin` to before `end`. Progress and errors as of `drain`.

    Moments that name no zone are of the session's.
    """
    zone = zone_of(spark.conf.get(SESSION_ZONE) or "UTC")
    options = attrs.evolve(options, begin=in_zone(options.begin, zone), end=in_zone(options.end, zone))
    missing = check_replay(options)
    if not waiting(options.reading()):
        return Totals(backlog=0)
    if missing:
        assert options.queues is not None
        with open_admin(options.source) as admin:
            make_topic(admin, options.into, options.queues)
    from pyspark.sql import functions as f

    reading = {
        **options.reading(),
        "columns": ",".join((*COPIED_COLUMNS, "store_timestamp")),
        "maxOffsetsPerTrigger": str(options.rows_at_once),
    }
    end = moment_ms("--to", options.end)

    def make(frame: DataFrame) -> DataFrame:
        before = f.col("store_timestamp") < f.timestamp_millis(f.lit(end))
        chosen = copies(frame.where(before), sharding_key=options.sharding_key)
        return chosen.observe(WRITTEN, f.count(f.lit(1)).alias("rows"))

    return transfer(
        spark,
        reading,
        make,
        options.writing(),
        options.checkpoint,
        tell=tell,
        stop=stop,
    )
