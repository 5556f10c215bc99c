"""`mqframe spark drain`, `replay` and `republish-dlq`: jobs that write messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from mqframe_admin.rules.dead_letters import all_groups_get_them, resend_to
from mqframe_cli.extension import Json, NameServer, show, show_one

from mqframe.core.errors import SettingError
from mqframe_spark.command_line.arguments import (
    AtLeastOnce,
    Checkpoint,
    Conf,
    DryRun,
    LogLevel,
    Master,
    Options,
    OptionsFile,
    Queues,
    RowsAtOnce,
    ShardingKey,
    source_options,
    typed_moment,
)
from mqframe_spark.command_line.running import finish, note, session, session_options, teller
from mqframe_spark.jobs import checkpoints

if TYPE_CHECKING:
    from mqframe_spark.jobs.sessions import SessionOptions
    from mqframe_spark.jobs.watching import Totals

ROWS_AT_ONCE = 1_000_000

Backlogged = Annotated[str, typer.Argument(help="Topic whose backlog is to be moved.")]
Source = Annotated[str, typer.Argument(help="Topic to copy from.")]
Into = Annotated[str, typer.Option(help="Topic that gets the copies.")]
BacklogOf = Annotated[
    str, typer.Option(help="Consumer group whose backlog it is: all that it has not consumed.")
]
Starting = Annotated[str, typer.Option("--from", help="Without a group: earliest, or JSON with offsets.")]
KeepOffsets = Annotated[
    bool, typer.Option("--keep-offsets", help="Leave the group where it is: it gets everything twice.")
]
Begin = Annotated[
    str, typer.Option("--from", help="Stored then or later: 2026-01-31T12:00, or ms since 1970.")
]
End = Annotated[str, typer.Option("--to", help="Stored before.")]
DeadOf = Annotated[str, typer.Argument(help="Consumer group that gave the messages up.")]
Where = Annotated[
    str, typer.Option(help="SQL condition over the columns, original_topic and text; by default all.")
]
To = Annotated[
    str,
    typer.Option(help="group: only this group gets them; topic: all who subscribe the original topics."),
]
InsteadOf = Annotated[str, typer.Option(help="Another topic, which gets all of them.")]
Again = Annotated[bool, typer.Option("--again", help="Also those of which a copy is there.")]
CommitPath = Annotated[
    str,
    typer.Option(
        help="Folder for the record of what was sent to topics; by default one in "
        "~/.local/state/mqframe/spark."
    ),
]


class Job(Protocol):
    """A drain or a replay."""

    @property
    def checkpoint(self) -> str:
        """Folder that keeps its progress."""
        ...

    @property
    def into(self) -> str:
        """Topic that gets the copies."""
        ...

    def reading(self) -> dict[str, str]:
        """Options of the source for what is to be copied now."""
        ...


def drain(
    topic: Backlogged,
    into: Into,
    group: BacklogOf = "",
    starting: Starting = "",
    keep_offsets: KeepOffsets = False,
    queues: Queues = None,
    sharding_key: ShardingKey = "",
    at_least_once: AtLeastOnce = False,
    rows_at_once: RowsAtOnce = ROWS_AT_ONCE,
    dry_run: DryRun = False,
    checkpoint: Checkpoint = "",
    option: Options = None,
    options_file: OptionsFile = "",
    master: Master = "local[*]",
    conf: Conf = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Move a backlog into a topic with more queues, where more consumers can share it.

    Bodies, tags, keys, flags and properties stay; copies get new message ids, and the old one as idempotence
    key. With --group, whose members must be stopped, the group's offsets then lie behind what was moved; have
    its members subscribe the new topic as well.

    Run again, the job goes on behind what it moved before, also after a crash; nothing is there twice, unless
    with --at-least-once. Another --checkpoint starts over.
    """
    from mqframe_spark.jobs import draining

    if group and starting:
        raise SettingError("--group and --from contradict each other; give one of them")
    if keep_offsets and not group:
        raise SettingError("--keep-offsets needs --group")
    source = source_options(option, options_file, nameserver=nameserver)
    facts = {"topic": topic, "into": into, "group": group, "from": starting, **source}
    job = draining.Drain(
        source=source,
        topic=topic,
        into=into,
        checkpoint=checkpoints.checkpoint_for(checkpoint, f"drain-{topic}", facts, master),
        group=group,
        starting=starting or "earliest",
        keep_offsets=keep_offsets,
        queues=queues,
        sharding_key=sharding_key,
        exactly_once=not at_least_once,
        rows_at_once=rows_at_once,
    )
    spark_options = session_options(f"drain {topic}", master, conf, log_level)
    _carry_out(job, draining.check_drain, draining.drain, spark_options, dry_run, json)


def replay(
    topic: Source,
    into: Into,
    begin: Begin,
    end: End,
    queues: Queues = None,
    sharding_key: ShardingKey = "",
    at_least_once: AtLeastOnce = False,
    rows_at_once: RowsAtOnce = ROWS_AT_ONCE,
    dry_run: DryRun = False,
    checkpoint: Checkpoint = "",
    option: Options = None,
    options_file: OptionsFile = "",
    master: Master = "local[*]",
    conf: Conf = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Copy what was stored between two moments into another topic.

    What stays of a message is as of drain; nobody's offsets change. Run again with the same moments, nothing
    is copied a second time, also after a crash, unless with --at-least-once or another --checkpoint.
    """
    from mqframe_spark.jobs import replaying

    begin, end = typed_moment("--from", begin, conf), typed_moment("--to", end, conf)
    source = source_options(option, options_file, nameserver=nameserver)
    facts = {"topic": topic, "into": into, "from": begin, "to": end, **source}
    job = replaying.Replay(
        source=source,
        topic=topic,
        into=into,
        begin=begin,
        end=end,
        checkpoint=checkpoints.checkpoint_for(checkpoint, f"replay-{topic}", facts, master),
        queues=queues,
        sharding_key=sharding_key,
        exactly_once=not at_least_once,
        rows_at_once=rows_at_once,
    )
    spark_options = session_options(f"replay {topic}", master, conf, log_level)
    _carry_out(job, replaying.check_replay, replaying.replay, spark_options, dry_run, json)


def _carry_out(
    job: Job,
    check: Callable[[Any], bool],
    run_job: Callable[..., Totals],
    spark_options: SessionOptions,
    dry_run: bool,
    as_json: bool,
) -> None:
    from mqframe_spark.jobs import clusters, watching

    missing = check(job)
    if dry_run:
        if missing:
            note(f"topic {job.into} would be made")
        found = clusters.waiting(job.reading())
        note(f"{sum(each.count for each in found):,} messages would be read")
        show([each.row() for each in found], as_json=as_json, empty="no messages there")
        return
    note(f"checkpoint {job.checkpoint}")
    stop = watching.StopRequest()
    with session(spark_options) as spark, stop.on_signals():
        totals = run_job(spark, job, tell=teller(as_json), stop=stop)
    finish(totals, {"checkpoint": job.checkpoint}, stop, as_json=as_json)


def republish_dlq(
    group: DeadOf,
    where: Where = "",
    to: To = "group",
    into: InsteadOf = "",
    again: Again = False,
    at_least_once: AtLeastOnce = False,
    dry_run: DryRun = False,
    commit_path: CommitPath = "",
    option: Options = None,
    options_file: OptionsFile = "",
    master: Master = "local[*]",
    conf: Conf = None,
    log_level: LogLevel = "OFF",
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send dead letters again, those that a condition chooses: to the group that gave them up, or to topics.

    What brokers noted of the failures is left out; MQFRAME_DEAD_LETTER says where a copy is from. The dead
    letters stay where they are, and are made readable where they are not. Run again, only those are sent of
    which there is no copy yet, be it from here or from `mqframe dlq resend`.
    """
    from mqframe_spark.jobs import dead_letters

    if to not in ("group", "topic"):
        raise SettingError(f"--to {to}: must be group or topic")
    if to == "topic" and into:
        raise SettingError("--to topic and --into contradict each other; give one of them")
    to_group = to == "group" and not into
    if to_group and commit_path:
        raise SettingError("--commit-path: is for copies to topics, with --to topic or --into")
    source = source_options(option, options_file, nameserver=nameserver)
    place = ""
    if not (to_group or at_least_once or dry_run):
        place = checkpoints.checkpoint_for(
            commit_path, f"republish-{group}", {"group": group, **source}, master
        )
    job = dead_letters.Republish(
        source=source,
        group=group,
        where=where,
        to=resend_to(to),
        into=into,
        again=again,
        commit_path=place,
    )
    spark_options = session_options(f"republish {group}", master, conf, log_level)
    changed = dead_letters.open_letters(job)
    if changed:
        note(f"made {job.topic} readable on {', '.join(changed)}")
    if to == "topic":
        note(all_groups_get_them(group))
    with session(spark_options) as spark:
        done = dead_letters.republish_dead_letters(spark, job, dry_run=dry_run)
    row: Mapping[str, Any] = done.row()
    if dry_run:
        row = {("would_send" if name == "sent" else name): value for name, value in row.items()}
    show_one(row, as_json=json)
