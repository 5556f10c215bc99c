"""The schemas of one topic, ready to be used: which version a body is of, whether it fits, what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqframe.core.messages.message import ReceivedMessage
from mqframe_schemas.formats.bodies import BodySchema, UnfitBody
from mqframe_schemas.formats.chosen import format_called
from mqframe_schemas.rules.history import VERSION_PROPERTY, SchemaHistory, SchemaVersion


class TopicSchemas:
    """The versions of a topic's schema. Each is loaded when it is first needed.

        schemas = SchemasAdmin(admin).schemas("orders")
        value = schemas.decode(message)

    Raises `FixError` where the topic never had a schema, and where the library for its kind is not installed.
    """

    def __init__(self, history: SchemaHistory) -> None:
        self.history = history
        gone = history.head is not None and not history.head.latest and history.versions
        self.latest = history.versions[-1] if gone else history.needed()
        """The version that producers write by, or did at last."""
        self._loaded: dict[int, BodySchema] = {}
        self._load(self.latest)

    @property
    def codec(self) -> tuple[str, dict[str, Any]]:
        """The codec, as clients are given it, that reads bodies of all versions as the latest has them."""
        made = format_called(self.latest.format)
        same = [each for each in self.history.versions if each.format == self.latest.format]
        return made.codec, made.codec_options(self.latest, same)

    def check(self, body: bytes, properties: Mapping[str, str]) -> SchemaVersion:
        """The version that `body` is of, which it fits.

        That is the one which its property names, or the body itself (Avro), else the latest. Raises
        `UnfitBody`.
        """
        version = self.version_of(body, properties)
        self._load(version).check(body)
        return version

    def decode(self, message: ReceivedMessage) -> Any:
        """What is in the body of `message`, by the version that wrote it: texts, numbers, lists, dicts.

        Raises `UnfitBody`, a `DecodeError`, and `BodyUnreadable` when it cannot be unpacked.
        """
        body = message.body
        try:
            return self._load(self.version_of(body, message.properties)).decode(body)
        except UnfitBody as problem:
            problem.codec, problem.topic, problem.broker_name = "schemas", message.topic, message.broker_name
            problem.queue_id, problem.queue_offset = message.queue_id, message.queue_offset
            raise

    def version_of(self, body: bytes, properties: Mapping[str, str]) -> SchemaVersion:
        """The version that a body is of, as far as it says so. Raises `UnfitBody` for an unknown one."""
        said = properties.get(VERSION_PROPERTY)
        if said is not None:
            found = self.history.version_said(said)
            if found is None:
                known = ", ".join(str(each.number) for each in self.history.versions)
                raise UnfitBody(f"its property {VERSION_PROPERTY} is {said[:20]!r}; versions are {known}")
            return found
        if not self._load(self.latest).marked(body):
            return self.latest
        newest_first = sorted(self.history.versions, key=lambda each: -each.number)
        same = (each for each in newest_first if each.format == self.latest.format)
        return next((each for each in same if self._load(each).wrote(body)), self.latest)

    def _load(self, version: SchemaVersion) -> BodySchema:
        found = self._loaded.get(version.number)
        if found is None:
            found = self._loaded[version.number] = format_called(version.format).load(version)
        return found
