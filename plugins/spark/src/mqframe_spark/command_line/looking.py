"""`mqframe spark report` and `search`: jobs that only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer
from mqframe_cli.extension import Json, NameServer, show, write_json

from mqframe.core.errors import SettingError
from mqframe_spark.command_line.arguments import (
    Conf,
    LogLevel,
    Master,
    Options,
    OptionsFile,
    Pattern,
    Topics,
    check_source,
    place,
    source_options,
    typed_moment,
)
from mqframe_spark.command_line.running import note, session, session_options, show_lines
from mqframe_spark.jobs import searching

From = Annotated[
    str,
    typer.Option("--from", help="Only stored then or later: 2026-01-31T12:00, or ms since 1970."),
]
To = Annotated[str, typer.Option("--to", help="Only stored before.")]
Path = Annotated[str, typer.Option(help="Folder of a store, read instead of brokers.")]
TEXT_SHOWN_MAX = 60


def report(
    topics: Topics = "",
    pattern: Pattern = "",
    group: Annotated[
        list[str] | None, typer.Option(help="Consumer group whose lag is told; may be given often.")
    ] = None,
    by: Annotated[str, typer.Option(help="What a line is: topic, queue or hour (UTC).")] = "topic",
    begin: From = "",
    end: To = "",
    lag_only: Annotated[
        bool, typer.Option("--lag-only", help="Only the groups: no message is read, Spark is not started.")
    ] = False,
    path: Path = "",
    option: Options = None,
    options_file: OptionsFile = "",
    master: Master = "local[*]",
    conf: Conf = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Tell how many messages and bytes were sent, how fast, and how far groups are behind.

    Bytes are those of bodies, decompressed; rates are over the time from the first to the last message of a
    line. With --json, one object with `traffic` and `lag`.
    """
    from mqframe_spark.jobs import reporting

    if lag_only and not group:
        raise SettingError("--lag-only needs --group")
    where = {
        "topics": topics,
        "topicPattern": pattern,
        **place(path, nameserver),
    }
    begin, end = typed_moment("--from", begin, conf), typed_moment("--to", end, conf)
    bounds = {"startingTimestamp": begin, "endingTimestamp": end}
    # Groups are measured against where the queues end, whatever times are looked at.
    behind = reporting.ReportPlan(
        source=source_options(option, options_file, **where), by=by, groups=tuple(group or ())
    )
    sent = reporting.ReportPlan(source=source_options(option, options_file, **where, **bounds), by=by)
    spark_options = session_options("report", master, conf, log_level)
    reporting.check_report(sent)
    lag = reporting.lags(behind) if group else []
    traffic = []
    if not lag_only:
        _check_batch(sent.source)
        with session(spark_options) as spark:
            traffic = reporting.report(spark, sent)
    if json:
        write_json({"traffic": traffic, "lag": lag})
        return
    if not lag_only:
        show(traffic, as_json=False, title="traffic", empty="no messages there")
    if group:
        show(lag, as_json=False, title="lag")


def search(
    sql: Annotated[
        str, typer.Option(help="Condition over columns and text (the body), or a SELECT over messages.")
    ],
    path: Path = "",
    topic: Annotated[str, typer.Option(help="Topic to look in.")] = "",
    topics: Topics = "",
    pattern: Pattern = "",
    begin: From = "",
    end: To = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 20,
    lines: Annotated[bool, typer.Option("--json-lines", help="Write one JSON object a line.")] = False,
    option: Options = None,
    options_file: OptionsFile = "",
    master: Master = "local[*]",
    conf: Conf = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Search messages by SQL, straight in the files of a store, or through brokers.

    A store is read as it is, whether its broker runs or not. All that Spark SQL knows can be used, such as
    text like '%refund%' and properties['country'] = 'DE', or select tags, count(*) from messages group by
    tags.
    """
    if json and lines:
        raise SettingError("--json and --json-lines contradict each other; give one of them")
    begin, end = typed_moment("--from", begin, conf), typed_moment("--to", end, conf)
    source = source_options(
        option, options_file, topic=topic, topics=topics, topicPattern=pattern,
        **place(path, nameserver), startingTimestamp=begin, endingTimestamp=end,
    )  # fmt: skip
    spark_options = session_options("search", master, conf, log_level)
    _check_batch(source)
    with session(spark_options) as spark:
        found = searching.search(spark, searching.Search(source=source, sql=sql, limit=limit))
    if found.more:
        note(f"there is more; the first {limit} rows follow, --limit shows others")
    if lines:
        show_lines(found.rows)
        return
    rows = found.rows if json else [{name: _cut(value) for name, value in row.items()} for row in found.rows]
    show(rows, as_json=json, empty="nothing found")


def _check_batch(source: Mapping[str, str]) -> None:
    from mqframe_spark.source.options import STREAM_ONLY, parse_options

    options = parse_options(source)
    options.refuse(STREAM_ONLY, "only streams have it")
    check_source(options)


def _cut(value: object) -> object:
    if isinstance(value, str) and len(value) > TEXT_SHOWN_MAX:
        return f"{value[:TEXT_SHOWN_MAX]}…"
    return value
