"""Deletions: what would go, and whether it may."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from mqframe.core.errors import AnswerError, SettingError
from mqframe.core.printable import printable
from mqframe_cli.commands import FAILED

if TYPE_CHECKING:
    from mqframe_admin.bodies import TopicOffset

    from mqframe import Admin, MessageQueue

Yes = Annotated[bool, typer.Option("--yes", help="Delete without asking.")]
SAMPLE_QUEUES_MAX: Final = 16
"""Queues that are looked into to tell how large messages are."""
SAMPLE_ENTRIES: Final = 32
UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


class TopicContents(NamedTuple):
    """What a topic holds. `size`: bytes of its stored messages, `None` where brokers do not say; `exact`:
    whether all of them were counted, and not some.
    """

    messages: int
    size: int | None
    exact: bool
    groups: tuple[str, ...]

    def __str__(self) -> str:
        size = (
            "of unknown size"
            if self.size is None
            else f"{'' if self.exact else 'about '}{size_text(self.size)}"
        )
        readers = f"read by {', '.join(self.groups)}" if self.groups else "read by no group"
        return f"{self.messages:,} messages, {size}, {readers}"


def topic_contents(admin: Admin, topic: str) -> TopicContents:
    """What `topic` holds and who reads it; its size follows from some messages of some queues."""
    stats = admin.topics.stats(topic)
    messages = sum(each.max_offset - each.min_offset for each in stats.values())
    filled = {queue: each for queue, each in stats.items() if each.max_offset > each.min_offset}
    chosen = dict(
        sorted(filled.items(), key=lambda item: item[1].min_offset - item[1].max_offset)[:SAMPLE_QUEUES_MAX]
    )
    try:
        sizes = [size for queue, each in chosen.items() for size in _sizes(admin, queue, each)]
    except AnswerError:
        sizes = []  # a broker that does not serve its queues' entries
    size = None if messages and not sizes else round(messages * sum(sizes) / max(1, len(sizes)))
    groups = tuple(admin.topics.groups(topic))
    return TopicContents(messages, size, len(sizes) == messages, groups)


def _sizes(admin: Admin, queue: MessageQueue, stats: TopicOffset) -> Iterable[int]:
    """Sizes of the oldest and the newest messages of `queue`, bytes."""
    begin, end = stats.min_offset, stats.max_offset
    second = max(begin + SAMPLE_ENTRIES, end - SAMPLE_ENTRIES)
    for index in (begin, second) if second < end else (begin,):
        count = min(SAMPLE_ENTRIES, end - index)
        yield from (
            each.physic_size for each in admin.messages.queue_entries(queue, index, count).queue_data[:count]
        )


def size_text(size: float) -> str:
    """A number of bytes for people."""
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{size:.0f} {UNITS[0]}"


def may_delete(what: str, contents: str, *, yes: bool) -> None:
    """Return when `what` may be deleted: with `yes`, or when the person at the terminal says so.

    Raises `SettingError` where nobody can be asked, and ends the command when the answer is no.
    """
    if not yes:
        ask_first(f"{what}: {contents}", f"Delete {what}?", "nothing was deleted")


def ask_first(said: str, question: str, undone: str) -> None:
    """Return when the person at the terminal, who is told `said`, answers `question` with yes.

    Raises `SettingError` where nobody can be asked, and ends the command when the answer is no; `undone`:
    what is said then.
    """
    said = printable(said)
    if not sys.stdin.isatty():
        raise SettingError(f"{said}\n{undone}, as there is no terminal to ask at; add --yes")
    typer.echo(said, err=True)
    if not typer.confirm(printable(question), err=True):
        typer.echo(f"mqframe: {undone}", err=True)
        raise typer.Exit(FAILED)
