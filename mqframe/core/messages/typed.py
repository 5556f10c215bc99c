"""Values as bodies of messages: encoded with what says so in properties, decoded with where it failed.

The content type is in the property `contentType`: Spring's clients for RocketMQ hand properties on as headers
of these names, and this is where they look for it; other than `content-type` it may stand in SQL92 filters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mqframe.core.errors import DecodeError, EncodeError, MqframeError
from mqframe.core.messages.codec import Codec

CONTENT_TYPE: Final = "contentType"
SCHEMA: Final = "dataschema"
"""Names the schema of the body, as the attribute of this name does in CloudEvents."""
_CONTENT_TYPES: Final = (CONTENT_TYPE, "content-type", "Content-Type", "CE_contenttype", "CE_datacontenttype")
"""What senders call it: this project and Spring, Kafka's bridges, the CloudEvents SDK for RocketMQ."""
_SHOWN_MAX: Final = 100


def content_type(properties: Mapping[str, str]) -> str:
    """The media type that `properties` name, in lower case, without parameters; "" where there is none."""
    for name in _CONTENT_TYPES:
        found = properties.get(name)
        if found:
            return found.partition(";")[0].strip().lower()
    return ""


def encoded(codec: Codec, value: Any, properties: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    """The body for `value`, and `properties` with what says so; the application's own words stay.

    Raises `EncodeError`.
    """
    body = codec.encode(value)
    if not isinstance(body, bytes) or not body:
        what = "nothing" if isinstance(body, bytes) else f"a {type(body).__qualname__}, not bytes"
        raise EncodeError(f"codec {codec.name} made {what} of a {type(value).__qualname__}")
    said = {CONTENT_TYPE: codec.content_type}
    schema = codec.schema(value)
    if schema:
        said[SCHEMA] = schema
    return body, {**said, **properties}


def decoded(message: Any, type: Any, codec: Codec) -> Any:
    """The value in the body of `message`, a `ReceivedMessage`.

    Raises `DecodeError` that says where the message lies, `BodyUnreadable` when it cannot be unpacked,
    and any other `MqframeError` of the codec.
    """
    body = message.body
    try:
        return codec.decode(body, type)
    except DecodeError as problem:
        found = DecodeError(problem.problem, problem.path)
    except (MqframeError, MemoryError):
        raise
    except Exception as problem:
        # The codec's own failure. Its words may hold parts of the body.
        found = DecodeError(f"decoding failed with {problem.__class__.__name__}")
    # Raised here, without the cause: that one shows the body in tracebacks.
    said = content_type(message.properties)
    if said and said != codec.content_type.partition(";")[0]:
        found.problem += f" (the sender calls it {said[:_SHOWN_MAX]!r})"
        found.args = (found.problem, found.path)
    found.codec = codec.name
    found.topic, found.broker_name = message.topic, message.broker_name
    found.queue_id, found.queue_offset = message.queue_id, message.queue_offset
    raise found
