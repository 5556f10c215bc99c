"""One line of standard output for each message."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from mqframe.core.printable import printable
from mqframe_cli.output import time_text, write_json
from mqframe_cli.text.body import body_columns, body_line

if TYPE_CHECKING:
    from mqframe.core.messages.message import ReceivedMessage


def write_message(
    message: ReceivedMessage, *, as_json: bool, base64: bool = False, stored: bool = False
) -> None:
    """Write `message` at once: queue and offset, tag and body with tabs between, or a JSON object.

    `stored`: the time when it was stored comes first.
    """
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
            }
        )
    else:
        place = f"{message.queue_id}@{message.queue_offset}"
        words = [place, message.tag or "", body_line(message, base64=base64)]
        if stored:
            words = [time_text(message.store_timestamp), *words]
        typer.echo("\t".join(map(printable, words)))
    sys.stdout.flush()
