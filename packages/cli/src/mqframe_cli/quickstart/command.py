"""`mqframe quickstart`: start, send, consume, ask Spark, compare."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import attrs
import typer
from mqframe_testing.server_process import ServerProcess

from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import TopicSummary
from mqframe.hooks.manager import PluginManager
from mqframe_cli.commands import FAILED
from mqframe_cli.output import Json, write_json
from mqframe_cli.quickstart.events import INSTALL, Source, open_source
from mqframe_cli.quickstart.report import QuickstartReport, show_report
from mqframe_cli.quickstart.summary import differences, missing
from mqframe_cli.quickstart.watch import Bars
from mqframe_cli.settings.run_plugins import plugin_manager

QUEUES: Final = 8


@attrs.frozen
class ChosenPlugins:
    """The plugins of one run: the allocation strategy by name, and what computes the summary."""

    plugins: PluginManager
    allocate: str
    summary_name: str
    summary: TopicSummary


def quickstart(
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="CSV or JSON-lines file, perhaps zipped.  [default: flights of 2013]"),
    ] = None,
    tag_column: Annotated[str, typer.Option(help="Column that becomes the tag.")] = "",
    key_column: Annotated[str, typer.Option(help="Column that becomes the key.")] = "",
    sharding_column: Annotated[str, typer.Option(help="Rows with the same value stay in order.")] = "",
    value_column: Annotated[str, typer.Option(help="Column of numbers whose mean is computed.")] = "",
    allocate: Annotated[
        str, typer.Option(help="Allocation strategy of the two consumers.")
    ] = "averagely_by_circle",
    summary: Annotated[
        str, typer.Option(help="Plugin that computes counts and means.  [default: the installed one]")
    ] = "",
    json: Json = False,
) -> None:
    """Run the whole system on this machine, on real data, and check what comes out.

    Starts a name server and a broker, sends every row of the input as a message, consumes them with two
    members of one group, lets Spark (or another plugin) compute counts and means over the topic, and
    compares everything with the same computed straight from the input. Exit code 0 only if all agrees.
    """
    # As Ctrl-C does, SIGTERM ends the server and removes its data on the way out.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    chosen = choose(plugin_manager(), allocate, summary)
    source = open_source(input_, tag_column, key_column, sharding_column, value_column)
    with (
        tempfile.TemporaryDirectory(prefix="mqframe-quickstart-") as directory,
        Bars(quiet=json) as watch,
        ServerProcess(Path(directory)) as system,
    ):
        report = run(source, system, chosen, watch)
    if json:
        write_json(attrs.asdict(report))
    else:
        show_report(report)
    if report.problems:
        raise typer.Exit(FAILED)


def choose(plugins: PluginManager, allocate: str, summary: str = "") -> ChosenPlugins:
    """What `run` uses of `plugins`. Raises `PluginError` when it is not there."""
    try:
        plugins.create("allocation", allocate)
    except PluginError as failure:
        raise PluginError(f"{failure}; all that quickstart uses: {INSTALL}") from None
    problem = PluginError(f"quickstart compares with what a plugin computes; install it with: {INSTALL}")
    for name in [summary] if summary else plugins.names("topic_summary"):
        try:
            return ChosenPlugins(plugins, allocate, name, plugins.create("topic_summary", name))
        except PluginError as failure:  # of a broken one that nobody named the next takes the place
            problem = failure
    raise problem


def run(source: Source, system: ServerProcess, chosen: ChosenPlugins, watch: Bars) -> QuickstartReport:
    """Send, consume and aggregate `source` through `system`; what does not agree is in `problems`."""
    from mqframe import Admin
    from mqframe_cli.quickstart.traffic import Consumers, publish

    started = time.perf_counter()
    with Admin(nameserver=system.nameserver) as admin:
        admin.topics.create(source.topic, queues=QUEUES)
    watch.say(f"name server {system.nameserver}, broker {system.broker}, topic {source.topic}")
    strategy = partial(chosen.plugins.create, "allocation", chosen.allocate)
    with Consumers(system.nameserver, source.topic, strategy, watch.consumed) as consumers:
        sent = publish(system.nameserver, source.topic, source.events(), watch.sent)
        watch.total(len(sent.ids))
        consumers.wait_for(set(sent.ids))
    watch.spark_begins()
    spark_started = time.perf_counter()
    found = chosen.summary.summarize(system.nameserver, source.topic, source.columns.value)
    spark_seconds = time.perf_counter() - spark_started
    watch.spark_ends()
    expected = sent.expected
    problems = [f"{chosen.summary_name}, {line}" for line in differences(expected, found)]
    lost = missing(sent.ids, consumers.seen)
    strange = len(consumers.seen) - (len(set(sent.ids)) - len(lost))
    if lost:
        problems.append(f"{len(lost)} messages were sent but not consumed, the first is {lost[0]}")
    if strange:
        problems.append(f"{strange} messages were consumed that nobody sent")
    if len(set(sent.ids)) != len(sent.ids):
        problems.append("message ids are not unique")
    if {tag: group.count for tag, group in expected.items()} != consumers.tags:
        problems.append("consumers counted other tags than the input holds")
    return QuickstartReport(
        topic=source.topic,
        tag_column=source.columns.tag,
        value_column=source.columns.value,
        allocate=chosen.allocate,
        sent=len(sent.ids),
        sent_seconds=sent.seconds,
        consumed=len(consumers.seen),
        consumed_seconds=consumers.seconds,
        repeated=consumers.repeated,
        members=[
            {"name": member.name, "messages": member.messages, "queues": sorted(member.queues)}
            for member in consumers.members
        ],
        spark_seconds=spark_seconds,
        seconds=time.perf_counter() - started,
        groups=[
            {
                "tag": tag,
                "count": group.count,
                "mean": group.mean,
                "spark_count": found[tag].count if tag in found else 0,
                "spark_mean": found[tag].mean if tag in found else None,
            }
            for tag, group in sorted(expected.items(), key=lambda item: -item[1].count)
        ],
        problems=problems,
    )
