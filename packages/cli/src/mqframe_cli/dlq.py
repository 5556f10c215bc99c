"""`mqframe dlq`: the messages that consumer groups gave up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import admin_command
from mqframe_cli.commands import FAILED, new_app
from mqframe_cli.later import moment
from mqframe_cli.output import Shown, time_text
from mqframe_cli.text.body import Base64, body_columns

if TYPE_CHECKING:
    from mqframe import Admin, DeadLetter

app = new_app(help="Dead letters: messages that a consumer group gave up.")
Group = Annotated[str, typer.Argument(help="Name of the consumer group.")]
Key = Annotated[str | None, typer.Option(help="Only with this key, message id or offset id.")]
Tag = Annotated[str | None, typer.Option(help="Only with this tag.")]
Topic = Annotated[str | None, typer.Option(help="Only of this original topic.")]
Since = Annotated[
    str, typer.Option(help="Only given up at or after: 2026-01-31T12:00, or milliseconds since 1970.")
]
Until = Annotated[str, typer.Option(help="Only given up at or before.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many, the oldest.")]
NO_LETTERS = "group {group} has no such dead letters"


@admin_command(app, "list", empty=NO_LETTERS, known=("group",))
def list_letters(
    admin: Admin,
    group: Group,
    key: Key = None,
    tag: Tag = None,
    topic: Topic = None,
    since: Since = "",
    until: Until = "",
    limit: Limit = 100,
    base64: Base64 = False,
) -> Shown:
    """List dead letters, the oldest first. Makes their topic readable where it is not, and says so."""
    letters = _read(admin, group, key, tag, topic, since, until, limit)
    return [_row(each, base64=base64) for each in letters]


@admin_command(app, "show")
def show_letter(
    admin: Admin,
    group: Group,
    message_id: Annotated[str, typer.Argument(help="Message id, or offset id of the dead letter.")],
    base64: Base64 = False,
) -> Shown:
    """Show one dead letter with all that is known of it."""
    letter = admin.dead_letters.get(group, message_id)
    if letter is None:
        _missing(group, message_id)
        raise typer.Exit(FAILED)
    message = letter.message
    row = _row(letter, base64=base64)
    row |= {
        "born": time_text(message.born_timestamp),
        "born_host": message.born_host,
        "origin_message_id": message.origin_message_id,
        "stored_bytes": message.store_size,
        "properties": message.properties,
    }
    return row


@admin_command(app, empty=NO_LETTERS, known=("group",))
def resend(
    admin: Admin,
    group: Group,
    message_id: Annotated[
        list[str] | None, typer.Argument(help="Message ids, or offset ids of dead letters.")
    ] = None,
    key: Key = None,
    tag: Tag = None,
    topic: Topic = None,
    since: Since = "",
    until: Until = "",
    limit: Limit = 1000,
    everything: Annotated[bool, typer.Option("--all", help="All of the group's, unfiltered.")] = False,
    to: Annotated[
        str,
        typer.Option(help="group: only this group gets them; topic: all who subscribe the original topic."),
    ] = "group",
    again: Annotated[bool, typer.Option("--again", help="Also those that were sent again before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
) -> Shown:
    """Send dead letters again: those named, or those that the filters mean.

    Keys, tag, properties and the unique key stay; MQFRAME_DEAD_LETTER says where a copy is from, and one
    of which there is a copy is left out. The dead letters themselves stay where they are.
    """
    from mqframe_admin.rules.dead_letters import all_groups_get_them

    filtered = any((key, tag, topic, since, until))
    if bool(message_id) + filtered + everything != 1:
        raise SettingError("say which: message ids, or filters such as --key and --since, or --all")
    if to not in ("group", "topic"):
        raise SettingError(f"--to {to}: must be group or topic")
    if message_id:
        letters = _named(admin, group, message_id)
    else:
        letters = _read(admin, group, key, tag, topic, since, until, limit)
    if letters and to == "topic":
        said = all_groups_get_them(group, (each.topic for each in letters))
        typer.echo(f"mqframe: {said}", err=True)
    if dry_run:
        rows = [_row(each) for each in letters]
    else:
        done = admin.dead_letters.resend(letters, to=to, again=again)
        rows = [
            {
                "message_id": each.letter.unique_key,
                "dead_letter": each.letter.id,
                "to": each.topic,
                "sent": each.result is not None,
                "offset_message_id": each.result.offset_message_id if each.result is not None else "",
            }
            for each in done
        ]
    return rows


@admin_command(app, "open")
def open_letters(admin: Admin, group: Group) -> Shown:
    """Let the dead letters of a group be read (permission 6)."""
    return {"group": group, "readable": True, "changed": admin.dead_letters.open(group)}


@admin_command(app)
def close(admin: Admin, group: Group) -> Shown:
    """Have the dead letters of a group only written again (permission 2)."""
    return {"group": group, "readable": False, "changed": admin.dead_letters.close(group)}


def _read(
    admin: Admin,
    group: str,
    key: str | None,
    tag: str | None,
    topic: str | None,
    since: str,
    until: str,
    limit: int,
) -> list[DeadLetter]:
    from mqframe_admin.rules.dead_letters import END_OF_TIME

    begin = max(0, moment(since, "--since")) if since else 0
    end = moment(until, "--until") if until else -1
    changed = admin.dead_letters.open(group)
    if changed:
        typer.echo(f"mqframe: made %DLQ%{group} readable on {', '.join(changed)}", err=True)
    return admin.dead_letters.list(
        group,
        key=key,
        tag=tag,
        topic=topic,
        begin_ms=begin,
        end_ms=END_OF_TIME if end < 0 else end,
        max_count=limit,
    )


def _named(admin: Admin, group: str, message_ids: list[str]) -> list[DeadLetter]:
    """Nothing is sent when one of them does not exist."""
    found = []
    for message_id in message_ids:
        letter = admin.dead_letters.get(group, message_id)
        if letter is None:
            _missing(group, message_id)
            raise typer.Exit(FAILED)
        found.append(letter)
    return found


def _missing(group: str, message_id: str) -> None:
    typer.echo(f"mqframe: group {group} has no dead letter {message_id}", err=True)


def _row(letter: DeadLetter, *, base64: bool = False) -> dict[str, Any]:
    message = letter.message
    return {
        "message_id": letter.unique_key,
        "topic": letter.topic,
        "tag": message.tag,
        "keys": message.keys,
        "given_up": time_text(message.store_timestamp),
        "attempts": message.reconsume_times,
        "dead_letter": letter.id,
        **body_columns(message, base64=base64),
    }
