"""One line of standard output for each message."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from mqframe.core.printable import printable
from mqframe_cli.output import cell_text, on_terminal, time_text, write_json
from mqframe_cli.text.body import (
    UNREADABLE,
    BodyDecoder,
    body_columns,
    body_line,
    decoded,
    decoded_line,
)

if TYPE_CHECKING:
    from mqframe.core.messages.message import ReceivedMessage
    from mqframe_cli.live.line_format import LineFormat


def write_message(
    message: ReceivedMessage,
    *,
    as_json: bool,
    base64: bool = False,
    stored: bool = False,
    decoders: Sequence[BodyDecoder] = (),
) -> None:
    """Write `message` at once: queue and offset, tag and body with tabs between, or a JSON object.

    `stored`: the time when it was stored comes first; `decoders`: what they know to be in the body takes its
    place, or stands beside it in JSON.
    """
    value = decoded(message, decoders)
    if as_json:
        write_json(
            {
                "message_id": message.message_id,
                "topic": message.topic,
                "broker": message.broker_name,
                "queue": message.queue_id,
                "offset": message.queue_offset,
                "tag": message.tag,
                "keys": message.keys,
                "stored": time_text(message.store_timestamp),
                "properties": message.properties,
                **body_columns(message, base64=base64),
                **({} if value is None else {"decoded": value}),
            }
        )
    else:
        place = f"{message.queue_id}@{message.queue_offset}"
        body = body_line(message, base64=base64) if value is None else decoded_line(value)
        words = [place, message.tag or "", body]
        if stored:
            words = [cell_text(time_text(message.store_timestamp)), *words]
        typer.echo("\t".join(map(printable, words)))
    sys.stdout.flush()


def write_formatted(
    message: ReceivedMessage,
    line: LineFormat,
    *,
    base64: bool = False,
    decoders: Sequence[BodyDecoder] = (),
) -> None:
    """Write `message` at once as `line` says: byte for byte in a pipe, harmless for a terminal.

    The body is what `decoders` know to be in it, else its bytes; in base64 with `base64`, and where it cannot
    be unpacked.
    """
    value = None if base64 else decoded(message, decoders)
    if value is not None:
        body = decoded_line(value).encode()
    elif base64 or body_columns(message)["body_encoding"] == UNREADABLE:
        body = body_columns(message, base64=base64)["body"].encode()
    else:
        body = message.body
    sys.stdout.flush()
    typer.echo(line.line(message, body, for_people=on_terminal()), nl=False)
    sys.stdout.flush()
