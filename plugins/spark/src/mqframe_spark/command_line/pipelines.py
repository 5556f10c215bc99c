"""`mqframe spark run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer
from mqframe_cli.extension import Json, NameServer

from mqframe.core.errors import SettingError
from mqframe_spark.command_line.arguments import (
    Checkpoint,
    Conf,
    LogLevel,
    Master,
    Options,
    OptionsFile,
    Pattern,
    Topics,
    check_source,
    pairs,
    source_options,
)
from mqframe_spark.command_line.running import finish, note, session, session_options, teller
from mqframe_spark.jobs import checkpoints, loading

if TYPE_CHECKING:
    from mqframe_spark.jobs.pipeline import Pipeline
    from mqframe_spark.jobs.sessions import SessionOptions

DEFAULT_SINK: Final = "console"
SECONDS_MAX: Final = 366 * 86_400

Function = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE", help="Function that gets the DataFrame: module:function or file.py:function."
    ),
]
Topic = Annotated[str, typer.Option(help="Topic to read.")]
Mode = Annotated[str, typer.Option(help="broker, or files: straight from --path.")]
StorePath = Annotated[str, typer.Option(help="Folder of a store, with --mode files.")]
Sink = Annotated[
    str, typer.Option(help="Format that a returned DataFrame is written in: console, parquet, mqframe …")
]
SinkPath = Annotated[str, typer.Option(help="Option path of the sink.")]
SinkOptions = Annotated[
    list[str] | None,
    typer.Option("--sink-option", help="Option of the sink, key=value; may be given often."),
]
OutputMode = Annotated[str, typer.Option(help="append, update or complete, of a returned DataFrame.")]
AvailableNow = Annotated[
    bool, typer.Option("--available-now", help="Process what is there now, then end: the default.")
]
Continuous = Annotated[
    float | None, typer.Option(help="Do not end; a micro-batch every so many seconds, 0: at once.")
]
Name = Annotated[str, typer.Option(help="Name of the query; by default that of the function.")]
PyFiles = Annotated[
    list[str] | None,
    typer.Option("--py-file", help=".py, .zip or .egg that tasks import; may be given often."),
]


def run(
    pipeline: Function,
    topic: Topic = "",
    topics: Topics = "",
    pattern: Pattern = "",
    mode: Mode = "",
    path: StorePath = "",
    option: Options = None,
    options_file: OptionsFile = "",
    sink: Sink = "",
    sink_path: SinkPath = "",
    sink_option: SinkOptions = None,
    output_mode: OutputMode = "",
    checkpoint: Checkpoint = "",
    available_now: AvailableNow = False,
    continuous: Continuous = None,
    name: Name = "",
    master: Master = "local[*]",
    conf: Conf = None,
    py_file: PyFiles = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Run a function of yours on the stream of a topic.

    It gets a streaming DataFrame and returns a DataFrame, which goes to --sink; a DataStreamWriter, which
    gets name, checkpoint and trigger; or a StreamingQuery that it started itself. Run again, the job goes on
    where the checkpoint says; a micro-batch that was cut off is handed to the sink once more.

    Ctrl-C and SIGTERM wait for the micro-batch under way; a second one does not.
    """
    from mqframe_spark.jobs.pipeline import Pipeline

    source = source_options(
        option, options_file, topic=topic, topics=topics, topicPattern=pattern, mode=mode, path=path,
        nameserver="" if path else nameserver,
    )  # fmt: skip
    title = name or pipeline.rpartition(":")[2] or "pipeline"
    spark_options = session_options(title, master, conf, log_level, py_file)
    writing = pairs("--sink-option", sink_option) | ({"path": sink_path} if sink_path else {})
    asked = {
        "--sink": sink, "--sink-path": sink_path, "--sink-option": sink_option,
        "--output-mode": output_mode, "--checkpoint": checkpoint, "--available-now": available_now,
        "--continuous": continuous is not None,
    }  # fmt: skip
    _check_how(available_now, continuous, output_mode, sink)
    facts = {"pipeline": pipeline, "sink": sink, **source, **writing}
    options = Pipeline(
        source=source,
        name=title,
        checkpoint=checkpoints.checkpoint_for(checkpoint, title, facts, master),
        every_seconds=continuous,
        sink=sink or DEFAULT_SINK,
        sink_options=writing,
        output_mode=output_mode or "append",
        given=frozenset(each for each, value in asked.items() if value),
    )
    _carry_out(pipeline, options, spark_options, json)


def _check_how(available_now: bool, continuous: float | None, output_mode: str, sink: str) -> None:
    from mqframe_spark.jobs.pipeline import OUTPUT_MODES

    if available_now and continuous is not None:
        raise SettingError("--available-now and --continuous contradict each other; give one of them")
    if continuous is not None and not 0 <= continuous < SECONDS_MAX:
        raise SettingError(f"--continuous {continuous}: must be a number of seconds, 0 or more")
    if output_mode and output_mode not in OUTPUT_MODES:
        raise SettingError(f"--output-mode {output_mode}: choose one of {', '.join(OUTPUT_MODES)}")
    if output_mode == "update" and sink == "mqframe":
        raise SettingError(
            "--output-mode update: Spark has it for no sink in Python; return a DataStreamWriter with "
            "foreachBatch, and write each batch with format('mqframe') there"
        )


def _carry_out(text: str, options: Pipeline, spark_options: SessionOptions, as_json: bool) -> None:
    from mqframe_spark.jobs import pipeline, watching

    function = loading.load_function(text)
    _check_stream(options.source, has_end=options.every_seconds is None)
    note(f"{options.name}: checkpoint {options.checkpoint}")
    stop = watching.StopRequest()
    with session(spark_options) as spark:
        loading.travel_with_tasks(function)
        with stop.on_signals():
            totals = pipeline.run_pipeline(spark, function, options, tell=teller(as_json), stop=stop)
    finish(totals, {"checkpoint": options.checkpoint}, stop, as_json=as_json)


def _check_stream(source: Mapping[str, str], *, has_end: bool) -> None:
    from mqframe_spark.source.options import parse_options

    options = parse_options(source)
    if not has_end:
        options.check_endless()
    check_source(options)
