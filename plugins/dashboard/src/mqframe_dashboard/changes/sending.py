"""A test message, sent by somebody who is signed in."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Final

from mqframe import Message
from mqframe.core.messages.names import is_system_topic
from mqframe_dashboard.changes.errand import Change, Errand
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input
from mqframe_dashboard.query import BadQuery
from mqframe_dashboard.view import Facts, Links, Note, Page, link

PROPERTIES_MAX: Final = 100
BODY_CHARS_MAX: Final = 128 << 10
KINDS: Final = {"text": "text, as it is", "base64": "base64 of any bytes"}


async def send_page(errand: Errand) -> Page:
    """The form for a message of a topic."""
    topic = errand.values.text("topic")
    fields: list[Input | ChoiceField] = [
        Input("topic", "Topic", topic),
        Input("tag", "Tag"),
        Input("keys", "Keys", hint="apart by spaces"),
        Input("properties", "Properties", hint="name=value, a line each", kind="area"),
        Input("body", "Body", kind="area"),
        ChoiceField("kind", "The body is", KINDS, "text"),
    ]
    note = Note("It is a message as any other: all groups of the topic receive it.")
    return Page("Send a test message", [note, ChangeForm("message-send", "Send", fields)])


async def send(errand: Errand) -> Page:
    """Send it with the user's keys. Raises `BadQuery`, `NotFound`, and what a send raises."""
    session, values = errand.session, errand.values
    topic = values.needed("topic")
    if is_system_topic(topic):
        raise BadQuery(f"topic: {topic} is of the system; nothing was sent")
    message = Message(
        topic,
        _body(values),
        values.text("tag") or None,
        values.text("keys").split(),
        _properties(values),
    )
    await errand.asking.check_topic(topic)
    async with session.account.producer() as producer:
        sent = await session.do(producer.send, message)
    facts = {
        "message": link("message", sent.message_id, topic=topic, id=sent.message_id),
        "status": sent.status.name,
        "broker": sent.queue.broker_name,
        "queue": sent.queue.queue_id,
        "offset": sent.queue_offset,
    }
    back = [link("topic", f"Topic {topic}", name=topic), link("message-send", "Send another…", topic=topic)]
    return Page("The message was sent", [Facts(f"To {topic}", facts), Links(back)])


CHANGES: Final = (Change("/message-send", send_page, send, ("topic", "tag", "keys", "kind")),)


def _body(values: Values) -> bytes:
    text, kind = values.long_text("body", BODY_CHARS_MAX), values.text("kind") or "text"
    if kind not in KINDS:
        raise BadQuery(f"kind: {kind!r} is none of {', '.join(KINDS)}")
    if kind == "text":
        return text.encode()
    try:
        return b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise BadQuery(f"body: this is no base64: {problem}; nothing was sent") from None


def _properties(values: Values) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in values.long_text("properties", BODY_CHARS_MAX).splitlines():
        if not line.strip():
            continue
        name, is_pair, value = line.partition("=")
        if not is_pair or not name.strip():
            raise BadQuery(f"properties: {line[:40]!r} must be name=value; nothing was sent")
        found[name.strip()] = value
    if len(found) > PROPERTIES_MAX:
        raise BadQuery(f"properties: {len(found)} are too many; at most {PROPERTIES_MAX}")
    return found
