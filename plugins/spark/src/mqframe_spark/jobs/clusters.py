"""What jobs ask of a cluster before they write to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from mqframe.core.codes import PERM_WRITE, ResponseCode
from mqframe.core.errors import AnswerError, FixError, MessageError, RouteError, SettingError
from mqframe.core.messages.checks import check_sendable_topic
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe_spark.access import ACCESS_NAMES, parse_access
from mqframe_spark.given import Given
from mqframe_spark.jobs.copying import connection
from mqframe_spark.retrying import retrying
from mqframe_spark.source.options import parse_options
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.tasks import open_origin

if TYPE_CHECKING:
    from mqframe import Admin
    from mqframe.core.messages.message import MessageQueue


@attrs.frozen
class Waiting:
    """Messages of one queue from `start` to before `end` that a job would read."""

    queue: MessageQueue
    start: int
    end: int

    @property
    def count(self) -> int:
        """How many."""
        return self.end - self.start

    def row(self) -> dict[str, object]:
        """For people and programs."""
        return {
            "topic": self.queue.topic,
            "broker": self.queue.broker_name,
            "queue": self.queue.queue_id,
            "from": self.start,
            "to": self.end,
            "messages": self.count,
        }


def waiting(source: Mapping[str, str]) -> list[Waiting]:
    """What a batch with these options would read, queue by queue, those with nothing left out.

    Nothing is read, so tags and expressions do not count. Raises as the source does.
    """
    options = parse_options(source)
    planner = Planner(options, open_origin(options))
    try:
        spans = planner.batch()
    finally:
        planner.close()
    found: dict[MessageQueue, tuple[int, int]] = {}
    for span in spans:
        low, high = found.get(span.queue, (span.start, span.end))
        found[span.queue] = min(low, span.start), max(high, span.end)
    return [Waiting(queue, start, end) for queue, (start, end) in sorted(found.items())]


def ends(source: Mapping[str, str]) -> dict[MessageQueue, int]:
    """Where all queues that `source` names end now, empty ones among them."""
    options = parse_options(source)
    planner = Planner(options, open_origin(options))
    try:
        return planner.heads()
    finally:
        planner.close()


def open_admin(source: Mapping[str, str]) -> Admin:
    """An admin of the cluster that `source` names, with its access keys. Raises `SettingError`."""
    from mqframe import Admin

    table = Given(connection(source), ("nameserver", *ACCESS_NAMES))
    return Admin(nameserver=table.nameserver(), **parse_access(table).client_arguments())


def write_queues(admin: Admin, topic: str) -> dict[str, int]:
    """How many queues each broker lets be written of `topic`; empty when nobody has the topic."""
    try:
        configs = admin.topics.config(topic)
    except RouteError as problem:
        cause = problem.__cause__
        if isinstance(cause, AnswerError) and cause.code == ResponseCode.TOPIC_NOT_EXIST:
            return {}
        raise
    return {name: found.write_queue_nums for name, found in configs.items() if found.perm & PERM_WRITE}


def check_target(admin: Admin, option: str, topic: str, queues: int | None = None) -> bool:
    """Whether `topic` has to be made, with `queues` queues on each broker.

    Raises `FixError` when it may not be written, when it is missing and `queues` is not given, and when it
    has another number of queues.
    """
    try:
        check_sendable_topic(topic)
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            raise MessageError(f"messages to {topic} cannot go in a batch")
    except MessageError as problem:
        raise SettingError(f"{option} {topic}: {problem}") from None
    found = write_queues(admin, topic)
    if not found:
        if queues is None:
            raise FixError(
                f"{option} {topic}: no broker has a topic of this name that can be written; make it with "
                f"mqframe topic create, or let --queues say with how many queues it is to be made"
            )
        return True
    other = {name: count for name, count in found.items() if count != queues}
    if queues is not None and other:
        name, count = min(other.items())
        raise SettingError(f"--queues {queues}: topic {topic} has {count} on {name}; leave the option out")
    return False


def make_topic(admin: Admin, topic: str, queues: int) -> None:
    """Make `topic` on every broker, and wait until name servers tell of it."""
    admin.topics.create(topic, queues=queues)
    retrying(lambda: admin.topics.route(topic))


def check_group_rests(admin: Admin, group: str) -> None:
    """Raise `FixError` when `group` does not exist, or when a member of it is consuming."""
    if group not in admin.groups.list():
        raise FixError(f"--group {group}: there is no such consumer group")
    members = admin.members.consumers(group).connection_set
    if members:
        raise FixError(
            f"--group {group}: {len(members)} members are consuming and would get the same messages; stop "
            "them, or leave the group where it is with --keep-offsets"
        )


def group_offsets(source: Mapping[str, str], group: str) -> dict[MessageQueue, int]:
    """Where `group` is in each queue that `source` names and that it has an offset in."""
    options = parse_options(source)
    origin = open_origin(options)
    try:
        found = {queue: origin.of_group(queue, group) for queue in origin.queues()}
    finally:
        origin.close()
    return {queue: offset for queue, offset in found.items() if offset is not None}


def move_group(source: Mapping[str, str], group: str, table: Mapping[str, Mapping[str, int]]) -> int:
    """Have `group` go on at the offsets in `table`, as the checkpoint has them, and never back.

    Gives how many queues that was a step forward for.
    """
    from mqframe_spark.source.positions import from_json

    options = parse_options(source)
    origin = open_origin(options)
    moved = 0
    try:
        for queue, offset in from_json(table, options.wants).items():
            before = origin.of_group(queue, group)
            if before is None or before < offset:
                origin.commit(group, queue, offset)
                moved += 1
    finally:
        origin.close()
    return moved
