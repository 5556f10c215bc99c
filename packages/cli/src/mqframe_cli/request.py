"""`mqframe request`: ask by a message, and show the reply."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from mqframe.core.errors import SettingError
from mqframe_cli.access import access
from mqframe_cli.output import Json, NameServer, show_one, write_json
from mqframe_cli.sending.records import property_of
from mqframe_cli.text.body import Base64, body_columns


def request(
    topic: Annotated[str, typer.Argument(help="Name of the topic.")],
    body: Annotated[str, typer.Argument(help="Text of the request; - reads standard input.")],
    tag: Annotated[str | None, typer.Option(help="Tag that consumers filter by.")] = None,
    key: Annotated[list[str] | None, typer.Option(help="Key to find it by; may be given often.")] = None,
    prop: Annotated[
        list[str] | None, typer.Option("--property", help="name=value; may be given often.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Wait for the reply for so long, s.")] = 10.0,
    group: Annotated[str, typer.Option(help="Producer group.")] = "mqframe-cli",
    base64: Base64 = False,
    nameserver: NameServer = "",
    json: Json = False,
) -> None:
    """Send a message and show what is replied to it.

    In a pipe the reply's body alone is written, byte for byte. Exits with 3 where no reply comes in time, and
    with 1 where whoever handles the request failed at it.
    """
    from mqframe import Message, Producer

    if timeout <= 0:
        raise SettingError(f"--timeout {timeout:g}: must be more than 0 s")
    properties = dict(map(property_of, prop or ()))
    data = body.encode() if body != "-" else sys.stdin.buffer.read()
    with Producer(group=group, nameserver=nameserver, **access()) as producer:
        started = time.monotonic()
        reply = producer.request(Message(topic, data, tag, key or (), properties), timeout=timeout)
        seconds = time.monotonic() - started
    columns = body_columns(reply, base64=base64)
    if json:
        write_json({"seconds": round(seconds, 6), "properties": dict(reply.properties), **columns})
    elif base64 or sys.stdout.isatty():
        show_one({"seconds": round(seconds, 3), **columns}, as_json=False)
    else:
        typer.echo(reply.body, nl=False)
