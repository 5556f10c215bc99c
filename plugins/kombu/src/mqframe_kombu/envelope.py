"""Messages of kombu as messages of mqframe, and back.

The body is kombu's, so that others can read it: for a task of Celery JSON with its arguments. Headers and
properties are JSON in properties of the message; its key is the id of the task.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from kombu.utils import json

from mqframe import Message, ReceivedMessage
from mqframe.core.errors import BodyUnreadable, FixError

CONTENT_TYPE: Final = "content_type"
CONTENT_ENCODING: Final = "content_encoding"
HEADERS: Final = "kombu_headers"
PROPERTIES: Final = "kombu_properties"
TASK: Final = "task"
DUE: Final = "kombu_due"
"""When the message is to run, ms since 1970, where a broker could not wait for so long."""
FORM: Final = "kombu_form"
"""`body`: headers and properties were too large, or the body empty, and all of it is in the body."""
NAMES: Final = frozenset({CONTENT_TYPE, CONTENT_ENCODING, HEADERS, PROPERTIES, TASK, DUE, FORM})
TABLES_BYTES_MAX: Final = 20_000
"""Headers and properties up to this size, bytes, are properties; a broker takes 32,767 bytes in all."""
_KEY_LENGTH_MAX: Final = 255


def to_message(topic: str, payload: Mapping[str, Any], due: int | None = None) -> Message:
    """The message for `payload`, as kombu's `prepare_message` and `basic_publish` make it.

    `due`: noted when given. Raises `FixError` for headers that JSON cannot hold.
    """
    headers, properties = dict(payload.get("headers") or {}), dict(payload.get("properties") or {})
    properties.pop("delivery_tag", None)
    properties.pop("body_encoding", None)
    try:
        tables = {HEADERS: json.dumps(headers), PROPERTIES: json.dumps(properties)}
    except (TypeError, ValueError) as problem:
        raise FixError(f"headers or properties of a message for {topic} are no JSON: {problem}") from problem
    body = _bytes(payload.get("body"), payload.get("content-encoding"))
    named = {CONTENT_TYPE: payload.get("content-type"), CONTENT_ENCODING: payload.get("content-encoding")}
    kept = {name: str(value) for name, value in named.items() if value}
    if body and sum(map(len, tables.values())) <= TABLES_BYTES_MAX:
        kept |= tables
    else:
        kept[FORM] = "body"
        body = json.dumps({"body": base64.b64encode(body).decode(), **tables}).encode()
    if due is not None:
        kept[DUE] = str(due)
    task = headers.get("task")
    if isinstance(task, str) and _printable(task):
        kept[TASK] = task
    key = headers.get("id") or properties.get("correlation_id")
    keys = [key] if isinstance(key, str) and _printable(key) else []
    return Message(topic, body, keys=keys, properties=kept)


def to_payload(message: ReceivedMessage, queue: str, delivery_tag: int) -> dict[str, Any]:
    """What kombu makes its message of. One that others sent has their properties as headers.

    `queue`: where it was taken from. Raises `BodyUnreadable`.
    """
    found, body = message.properties, message.body
    headers: Any = None
    properties: Any = None
    if found.get(FORM) == "body":
        whole = json.loads(body)
        headers, properties = json.loads(whole[HEADERS]), json.loads(whole[PROPERTIES])
        body = base64.b64decode(whole["body"])
    elif HEADERS in found:
        headers, properties = json.loads(found[HEADERS]), json.loads(found.get(PROPERTIES, "{}"))
    else:
        headers = {name: value for name, value in found.items() if not name.isupper()}
        properties = {}
    sent_to = properties.get("delivery_info") or {"exchange": "", "routing_key": queue}
    properties["delivery_info"] = {**sent_to, "redelivered": message.reconsume_times > 0}
    properties["delivery_tag"] = delivery_tag
    return {
        "body": body,
        "headers": headers,
        "properties": properties,
        "content-type": found.get(CONTENT_TYPE, "application/data"),
        "content-encoding": found.get(CONTENT_ENCODING, "binary"),
    }


def headers_of(message: ReceivedMessage) -> dict[str, Any]:
    """Its headers; none where they cannot be read."""
    if message.properties.get(FORM) != "body":
        return _table(message.properties.get(HEADERS))
    try:
        return _table(_table(message.body).get(HEADERS))
    except BodyUnreadable:
        return {}


def expiration_of(message: ReceivedMessage) -> object:
    """The lifetime that its sender gave it, as `lifetime_ms` takes it; none where that cannot be read.

    None, too, for a task with a time `expires`: Celery gives it both, and its worker says of the task that it
    is revoked, which nobody would learn of a message that did not reach a worker.
    """
    tables = message.properties.get(PROPERTIES, "")
    # Most have none; a task with large headers has its own `expires`, which the worker looks at.
    if '"expiration"' not in tables:
        return None
    headers = headers_of(message)
    if headers.get("task") and headers.get("expires"):
        return None
    return _table(tables).get("expiration")


def _table(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}  # the message is made a dead letter where it is read
    return found if isinstance(found, dict) else {}


def _bytes(body: Any, encoding: Any) -> bytes:
    if isinstance(body, str):
        return body.encode(encoding if encoding not in (None, "binary", "ascii-8bit") else "utf-8")
    return bytes(body or b"")


def _printable(text: str) -> bool:
    return text.isprintable() and " " not in text and 0 < len(text) <= _KEY_LENGTH_MAX
