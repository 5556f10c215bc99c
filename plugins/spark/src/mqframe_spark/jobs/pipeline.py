"""A user's function on the stream of a topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.errors import FixError, MqframeError, SettingError
from mqframe_spark.access import ACCESS_NAMES
from mqframe_spark.jobs.failures import cause_of, spark_errors, spark_exceptions
from mqframe_spark.jobs.watching import StopRequest, Tell, Totals, follow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

OUTPUT_MODES: Final = ("append", "complete", "update")
STARTED_HERE: Final = ("checkpoint", "every_seconds", "sink", "sink_options", "output_mode")


@attrs.frozen(kw_only=True)
class Pipeline:
    """How to run a function.

    `source`: options of the source. `name`: of the query. `checkpoint`: folder that keeps the progress.
    `every_seconds`: a micro-batch so often, for ever; `None`: until what is there now is processed. `sink`:
    format that a returned DataFrame is written in, with `sink_options` and `output_mode`. `given`: those of
    `STARTED_HERE` that the user asked for, and that a query which the function started itself does not heed.
    """

    source: Mapping[str, str]
    name: str
    checkpoint: str
    every_seconds: float | None = None
    sink: str = "console"
    sink_options: Mapping[str, str] = {}
    output_mode: str = "append"
    given: frozenset[str] = frozenset()


def run_pipeline(
    spark: SparkSession,
    function: Callable[[DataFrame], Any],
    options: Pipeline,
    *,
    tell: Tell | None = None,
    stop: StopRequest | None = None,
) -> Totals:
    """Call `function` with the streaming DataFrame, start what it returns, and wait for the end.

    It returns a DataFrame, which is written to the sink; or a DataStreamWriter, which gets name, checkpoint
    and trigger; or a StreamingQuery, which is only waited for. Raises `SettingError` for anything else, and
    Spark's errors as errors of mqframe.
    """
    with spark_errors():
        frame = spark.readStream.format("mqframe").options(**options.source).load()
        query = _start(_called(function, frame), options)
        try:
            return follow(query, tell, stop)
        finally:
            if query.isActive:
                query.stop()


def _called(function: Callable[[DataFrame], Any], frame: DataFrame) -> Any:
    told_elsewhere: tuple[type[Exception], ...] = (MqframeError, *spark_exceptions())
    try:
        return function(frame)
    except told_elsewhere:
        raise
    except Exception as problem:  # the user's code: whatever it raises is its failure
        raise FixError(f"the pipeline failed: {cause_of(problem)}") from problem


def _start(made: Any, options: Pipeline) -> StreamingQuery:
    # Spark Connect has classes of its own for all three; it is their names that they share.
    kind = type(made).__name__
    if kind == "StreamingQuery":
        _refuse(made, options)
        found: StreamingQuery = made
        return found
    if kind == "DataStreamWriter":
        return _started(made, options)
    if kind != "DataFrame":
        raise SettingError(
            f"the pipeline returned {kind}; return a DataFrame, a DataStreamWriter or a StreamingQuery"
        )
    if not made.isStreaming:
        raise SettingError(
            "the pipeline returned a DataFrame that is no stream; build on the one it is given"
        )
    writer = made.writeStream.format(options.sink).outputMode(options.output_mode)
    return _started(writer.options(**sink_options(options)), options)


def sink_options(options: Pipeline) -> dict[str, str]:
    """The options of the sink; one that is mqframe's writes to the cluster that is read, unless told."""
    if options.sink != "mqframe":
        return dict(options.sink_options)
    shared = {name.lower() for name in ("nameserver", *ACCESS_NAMES)}
    defaults = {name: value for name, value in options.source.items() if name.lower() in shared}
    given = {name.lower() for name in options.sink_options}
    if "nameserver" in given:
        defaults = {}
    return {**{n: v for n, v in defaults.items() if n.lower() not in given}, **options.sink_options}


def _started(writer: DataStreamWriter, options: Pipeline) -> StreamingQuery:
    writer = writer.queryName(options.name).option("checkpointLocation", options.checkpoint)
    if options.every_seconds is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{round(options.every_seconds * 1000)} milliseconds").start()


def _refuse(query: StreamingQuery, options: Pipeline) -> None:
    if options.given:
        query.stop()
        names = ", ".join(sorted(options.given))
        raise SettingError(
            f"the pipeline started its query itself, so {names} cannot take effect; return the "
            "DataStreamWriter instead, or leave them out"
        )
