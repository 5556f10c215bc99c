"""Bodies decoded for people: what `mqframe topic tail` and others show of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import ReceivedMessage
from mqframe_schemas.admin import SchemasAdmin
from mqframe_schemas.rules.history import VERSION_PROPERTY
from mqframe_schemas.topic_schemas import TopicSchemas

if TYPE_CHECKING:
    from mqframe import Admin


class BodyTexts:
    """Decodes what is no text by itself.

    The schemas of a topic are read with its first message, and again when a message names a version that was
    not there then.
    """

    def __init__(self, admin: Admin) -> None:
        self._schemas = SchemasAdmin(admin)
        self._topics: dict[str, TopicSchemas | None] = {}
        self._asked: set[tuple[str, str]] = set()

    def value(self, message: ReceivedMessage) -> Any:
        """What is in the body of `message`; `None` where nobody can tell, and for JSON, which is text."""
        topic, said = message.topic, message.properties.get(VERSION_PROPERTY, "")
        known = self._topics.get(topic)
        is_new = known is None or (said != "" and known.history.version_said(said) is None)
        if is_new and (topic, said) not in self._asked:
            self._asked.add((topic, said))
            known = self._topics[topic] = self._read(topic)
        if known is None or known.latest.format == "json":
            return None
        try:
            return known.decode(message)
        except MqframeError:
            return None

    def _read(self, topic: str) -> TopicSchemas | None:
        try:
            return self._schemas.schemas(topic)
        except MqframeError:  # no schema, or no library for it; the body is shown as it is
            return None
