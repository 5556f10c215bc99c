"""`mqframe topic`: make, look at and delete topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated

import typer
from mqframe_admin.rules.topic_move import MoveState

from mqframe.core.cluster.order_config import TYPE_ATTRIBUTE
from mqframe.core.errors import FixError, SettingError
from mqframe_cli.access import admin_client, admin_command
from mqframe_cli.commands import new_app
from mqframe_cli.later import past_ms, since_ms
from mqframe_cli.names.deletion import Yes, may_delete, topic_contents
from mqframe_cli.names.known import check_known, listed_topics
from mqframe_cli.output import Json, NameServer, Shown, show_one, time_text
from mqframe_cli.sending.forwarding import Together
from mqframe_cli.text.body import Base64

if TYPE_CHECKING:
    from mqframe_admin.bodies import TopicOffset

    from mqframe import Admin
    from mqframe.core.messages.message import ReceivedMessage
    from mqframe_cli.live.line_format import LineFormat

DRAIN_LOOK_SECONDS = 1.0

app = new_app(help="Make, look at and delete topics.")
Topic = Annotated[str, typer.Argument(help="Name of the topic.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Only the brokers of this cluster.")]


@admin_command(app, "list", empty="there is no topic yet")
def list_topics(
    admin: Admin,
    all_: Annotated[bool, typer.Option("--all", help="Topics of the system too.")] = False,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="With queues, messages, and when the last one came.")
    ] = False,
    rates: Annotated[
        float | None,
        typer.Option(min=0.1, max=3600, help="As --long, with what comes a second, in so many seconds."),
    ] = None,
) -> Shown:
    """List topics. `mqframe top` shows rates of groups and brokers, too."""
    names = listed_topics(admin, every=all_)
    if not long and rates is None:
        return [{"topic": name} for name in names]
    from mqframe_cli.live.lag import topic_offsets
    from mqframe_cli.live.rates import per_second

    before, began = {}, time.monotonic()
    if rates is not None:
        before = {topic: _ever(held) for topic, held in topic_offsets(admin, names).items() if held}
        time.sleep(rates)
    now, seconds = topic_offsets(admin, names), time.monotonic() - began
    rows = []
    for topic, held in now.items():
        if held:
            row: dict[str, object] = {
                "topic": topic,
                "queues": len(held),
                "messages": sum(each.max_offset - each.min_offset for each in held),
                "last": time_text(max(each.last_update_timestamp for each in held)),
            }
            if rates is not None:
                row["in_per_s"] = per_second(before.get(topic), _ever(held), seconds)
            rows.append(row)
    return rows


def _ever(queues: Collection[TopicOffset]) -> int:
    """How many messages ever came to these queues."""
    return sum(each.max_offset for each in queues)


@admin_command(app, known=())
def create(
    admin: Admin,
    topic: Topic,
    queues: Annotated[int, typer.Option(help="Queues on each broker.")] = 8,
    perm: Annotated[int, typer.Option(help="4 read, 2 write, 6 both.")] = 6,
    order: Annotated[bool, typer.Option(help="Mark the topic as ordered.")] = False,
    type_: Annotated[
        str | None,
        typer.Option("--type", help="NORMAL, FIFO (fixed queue list), DELAY, TRANSACTION or PRIORITY."),
    ] = None,
    cluster: Cluster = None,
    broker: Annotated[str | None, typer.Option(help="Only this broker.")] = None,
) -> Shown:
    """Create a topic, or change it."""
    attributes = {TYPE_ATTRIBUTE: type_.upper()} if type_ is not None else None
    admin.topics.create(
        topic,
        queues=queues,
        perm=perm,
        order=order,
        attributes=attributes,
        cluster=cluster,
        broker=broker,
    )
    return {"topic": topic, "queues": queues, "perm": perm, "order": order}


@admin_command(app, known=("topic",))
def grow(
    admin: Admin,
    topic: Topic,
    queues: Annotated[int, typer.Option(help="Queues on each broker, old and new ones together.")],
    group: Annotated[
        list[str] | None, typer.Option(help="Groups that must have drained the old queues; all of the topic.")
    ] = None,
    settle: Annotated[float, typer.Option(help="Wait until producers know the new queues, s.")] = 40.0,
    timeout: Annotated[
        float, typer.Option(help="Wait for the old queues to drain at most so long, s.")
    ] = 3600.0,
) -> Shown:
    """Give an ordered topic more queues: producers first, consumers once the old queues have drained.

    May be broken off and called again at any time.
    """
    for each in group or ():
        check_known(admin, group=each)
    expansion = admin.queue_expansion.begin(topic, queues)
    if expansion.growing:
        time.sleep(settle)
        expansion = admin.queue_expansion.mark(expansion)
        end = time.monotonic() + timeout
        while any((left := admin.queue_expansion.left(expansion, group)).values()):
            if time.monotonic() >= end:
                raise FixError(
                    f"old queues of topic {topic} have not drained within {timeout:g} s; "
                    f"messages left: {left}; call it again"
                )
            time.sleep(DRAIN_LOOK_SECONDS)
        admin.queue_expansion.finish(expansion, group)
    return {"topic": topic, "queues": queues, "grown": expansion.growing}


@admin_command(app)
def move(
    admin: Admin,
    topic: Topic,
    source: Annotated[str, typer.Option("--from", help="Broker that the topic leaves.")],
    to: Annotated[
        str, typer.Option("--to", help="Brokers that take it: B,C. None: show how far it is.")
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option(help="Groups that must have consumed what is left; all of the topic.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Wait at most so long until nothing is left there, s.")] = 0.0,
    finish: Annotated[
        bool, typer.Option("--finish", help="Have consumers leave, too: nobody sees its queues there.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --finish: though something would be lost by it.")
    ] = False,
) -> Shown:
    """Move a topic from one broker to others: first what producers write, then, with --finish, its queues.

    Each step may be repeated. What was sent before stays where it is, until it is consumed: a key of an
    ordered topic may have messages at both for that time.
    """
    moves = admin.topic_moves
    targets = [name for name in to.split(",") if name]
    found = moves.begin(topic, source, targets) if targets else moves.look(topic, source, group)
    end = time.monotonic() + wait
    while found.state is MoveState.LEAVING and time.monotonic() < end:
        time.sleep(DRAIN_LOOK_SECONDS)
        found = moves.look(topic, source, group)
    if finish:
        found = moves.finish(topic, source, group, force=force)
    return {
        "topic": topic,
        "from": source,
        "to": ",".join(sorted(found.targets)),
        "state": found.state.value,
        "left": sum(found.left.values()),
        "waits_for": "; ".join(found.objections),
    }


@admin_command(app)
def delete(admin: Admin, topic: Topic, cluster: Cluster = None, yes: Yes = False) -> Shown:
    """Delete a topic with its messages, after asking."""
    contents = topic_contents(admin, topic)
    may_delete(f"topic {topic}", str(contents), yes=yes)
    admin.topics.delete(topic, cluster=cluster)
    return {"topic": topic, "deleted": True, "messages": contents.messages, "bytes": contents.size}


@admin_command(app, "show")
def show_topic(admin: Admin, topic: Topic) -> Shown:
    """Show where a topic lives and how it is configured, broker by broker."""
    route = admin.topics.route(topic)
    configs = admin.topics.config(topic)
    addresses = {broker.broker_name: broker.broker_addrs for broker in route.broker_datas}
    return [
        {
            "broker": queues.broker_name,
            "addresses": {str(number): text for number, text in addresses[queues.broker_name].items()},
            "read_queues": queues.read_queue_nums,
            "write_queues": queues.write_queue_nums,
            "perm": queues.perm,
            "order": queues.broker_name in configs and configs[queues.broker_name].order,
        }
        for queues in route.queue_datas
    ]


@admin_command(app)
def stats(admin: Admin, topic: Topic) -> Shown:
    """Show what each queue of a topic holds."""
    return [
        {
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "min_offset": each.min_offset,
            "max_offset": each.max_offset,
            "messages": each.max_offset - each.min_offset,
            "last": time_text(each.last_update_timestamp),
        }
        for queue, each in admin.topics.stats(topic).items()
    ]


@admin_command(app, empty="nobody consumes it")
def groups(admin: Admin, topic: Topic) -> Shown:
    """List the consumer groups of a topic."""
    return [{"group": name} for name in admin.topics.groups(topic)]


@app.command()
def tail(
    topic: Topic,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            "--from",
            help="From then on: 10m, 2026-01-31T12:00, start, or ms since 1970; else now.",
        ),
    ] = "",
    offset: Annotated[
        int | None, typer.Option(help="From this offset of each queue on; negative counts from its end.")
    ] = None,
    last: Annotated[int | None, typer.Option(min=1, help="So many of the newest messages first.")] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", "-e", help="End where the queues end now; begins at the start.")
    ] = False,
    until: Annotated[str, typer.Option(help="End with what was stored then, written as for --since.")] = "",
    queue: Annotated[
        list[str] | None, typer.Option(help="Only this one, BROKER:ID or ID; may be given often.")
    ] = None,
    tag: Annotated[str, typer.Option(help="Only these tags: a || b.")] = "*",
    key: Annotated[
        list[str] | None, typer.Option(help="Only with this key, or another that is given.")
    ] = None,
    where: Annotated[
        str, typer.Option(help="Only what fulfils this SQL92 expression over properties: a > 1.")
    ] = "",
    count: Annotated[
        int | None, typer.Option("--count", "--limit", min=1, help="End after so many messages.")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", "-f", help=r"Write each so: '%o %s\n'; letters are above.")
    ] = "",
    base64: Base64 = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    r"""Follow a topic without a group, one line for each message, until Ctrl-C. Nobody's offsets move.

    A line has the time of storing, queue@offset, tag and body. Within a queue messages come in order. Bodies
    whose schema is known (mqframe schema) are decoded, unless --base64 wants them as they are.

    In --format: %t topic, %b broker, %p queue, %o offset, %i message id, %g tag, %k keys, %s body, %S its
    bytes, %h properties, %h{NAME} one of them, %T ms since 1970 when it was stored, %d that as a time, %%,
    and \n, \t, \r, \\, \xHH. In a pipe all is written as it is.
    """
    from mqframe_cli.live.choice import choice_of
    from mqframe_cli.live.tail import TopicPart, follow

    _check_tail(since, offset, last, bool(format_) and json)
    part = TopicPart(
        topic=topic, offset=offset, last=last, until_end=until_end, tag=tag, queues=queue or (), count=count,
        begin_ms=since_ms(since) if since else None, until_ms=past_ms(until, "--until") if until else None,
        chooses=choice_of(where, key or ()),
    )  # fmt: skip
    line = _line_format(format_)
    with admin_client(nameserver) as admin:
        check_known(admin, topic)
        follow(part, _writer(admin, line, base64=base64, json=json), nameserver=nameserver)


def _check_tail(since: str, offset: int | None, last: int | None, two_forms: bool) -> None:
    """Raise `SettingError` for options of `tail` that say two things."""
    said = {"--since": bool(since), "--offset": offset is not None, "--last": last is not None}
    begins = [option for option, given in said.items() if given]
    if len(begins) > 1:
        raise SettingError(f"{' and '.join(begins)} each say where to begin; leave all but one out")
    if two_forms:
        raise SettingError("--format and --json both say how messages are written; leave one out")


def _line_format(text: str) -> LineFormat | None:
    if not text:
        return None
    from mqframe_cli.live.line_format import LineFormat

    return LineFormat(text)


def _writer(
    admin: Admin, line: LineFormat | None, *, base64: bool, json: bool
) -> Callable[[ReceivedMessage], None]:
    """What writes each message."""
    from mqframe_cli.live.lines import write_formatted, write_message
    from mqframe_cli.text.body import body_decoders

    decoders = [] if base64 else body_decoders(admin)

    def write(message: ReceivedMessage) -> None:
        if line is not None:
            write_formatted(message, line, base64=base64, decoders=decoders)
        else:
            write_message(message, as_json=json, base64=base64, stored=True, decoders=decoders)

    return write


@app.command()
def drain(
    topic: Topic,
    group: Annotated[str, typer.Option(help="Group whose backlog is sent on; this joins it.")],
    to: Annotated[str, typer.Option(help="Topic that gets the messages.")],
    queues: Annotated[
        int, typer.Option(min=1, help="Queues on each broker, where that topic is to be made first.")
    ] = 64,
    tag: Annotated[str, typer.Option(help="What the group subscribes of the topic: a || b.")] = "*",
    order: Annotated[
        Together,
        typer.Option(help="What stays in order: messages of one key (the first one), of one queue, or none."),
    ] = Together.NONE,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on when nothing is left, until Ctrl-C.")
    ] = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send a group's backlog on to a topic with more queues, where more consumers can share it.

    Copies keep body, keys, tag, properties and message id. What was sent on counts as consumed by the group.
    """
    from mqframe_cli.live.drain import Drain
    from mqframe_cli.live.drain import drain as run_drain

    if to == topic:
        raise SettingError(f"--to {to} is the topic itself; name another one")
    with admin_client(nameserver) as admin:
        check_known(admin, topic, group)
        if to not in admin.topics.list():
            admin.topics.create(to, queues=queues)
    run = Drain(topic, group, to, tag, order)
    try:
        run_drain(run, nameserver, follow=follow)
    finally:
        show_one({"topic": topic, "group": group, "to": to, "forwarded": run.forwarded}, as_json=json)
