"""Send hook `schemas`: a message whose body does not fit its topic's schema is refused before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import BodyError, MqframeError
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import TRANSACTION_PREPARED
from mqframe.core.sending.encoding import decode_elements
from mqframe.hooks.interfaces import HookPort, SendHook, SendOperation, SendStopped
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_schemas.formats.bodies import UnfitBody
from mqframe_schemas.rules.history import (
    NAMESPACE,
    VERSION_PROPERTY,
    SchemaHead,
    SchemaHistory,
    merged_heads,
    merged_versions,
    versions_of,
)
from mqframe_schemas.topic_schemas import TopicSchemas

log = get_logger("schemas")


class BodyRefused(SendStopped):
    """A message was not sent, as its body does not fit the schema of its topic, or nobody could tell.

    `topic`: where it was to go; `path`: where in the body, "" for all of it; `problem`: what is wrong there.
    None of them says what the body holds.
    """

    def __init__(self, topic: str, problem: str, path: str = "") -> None:
        place = f" at {path}" if path else ""
        super().__init__(f"a message to {topic} does not fit its schema{place}: {problem}")
        self.topic = topic
        self.problem = problem
        self.path = path


class SchemaCheck(SendHook):
    """Holds each message against the schema of its topic, and lets it say by which version it was written.

    The schemas are read when the producer starts, and again and again while it runs. Messages to topics
    without one pass. While no name server has told the schemas nothing is sent.
    """

    name = "schemas"

    @settings("plugins.schemas")
    class Options:
        """Whose schemas, and how new they are."""

        topics: tuple[str, ...] = setting(
            (), doc="topics whose schemas are heeded; none: those of all topics"
        )
        refresh_seconds: float = setting(
            30.0, doc="time between two looks for changed schemas, s", check=at_least(0.1)
        )

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or self.Options()
        self._heads: Mapping[str, SchemaHead] = {}
        self._checks: Mapping[str, TopicSchemas | str] = {}
        self._unknown = "the producer has not started"
        self._port: HookPort | None = None
        self._looking: asyncio.Task[None] | None = None

    async def attach(self, port: HookPort) -> None:
        """Read the schemas, before anything is sent."""
        self._port = port
        port.every(self._options.refresh_seconds, self._look)
        await self._read(port)

    def detach(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()

    def prepare(self, operation: SendOperation) -> None:
        """Raises `BodyRefused` for the first message that does not fit."""
        for index, message in enumerate(operation.messages):
            packed = _packed(message)
            for each in packed:  # encoded already: what they say of themselves stays
                self._checked(each)
            version = 0 if packed else self._checked(message)
            if version:
                operation.set_property(VERSION_PROPERTY, str(version), index)

    def _checked(self, message: Message) -> int:
        """The version that the body of `message` is of, 0 where its topic has no schema."""
        topic = message.topic
        if self._unknown:
            raise BodyRefused(topic, f"the schemas of topics are not known yet: {self._unknown}")
        schemas = self._checks.get(topic)
        if schemas is None:
            return 0
        if isinstance(schemas, str):
            raise BodyRefused(topic, f"nobody can tell here: {schemas}")
        try:
            return schemas.check(message.body, message.properties).number
        except UnfitBody as problem:
            raise BodyRefused(
                topic, f"{problem.problem} (version {schemas.latest.number})", problem.path
            ) from None
        except MqframeError as problem:  # an older version of a kind whose library is missing
            raise BodyRefused(topic, f"nobody can tell here: {problem}") from problem
        except Exception as problem:  # of a validator: what nobody has looked at is not sent
            # Its words may hold parts of the body.
            raise BodyRefused(topic, f"looking at it failed with {type(problem).__name__}") from None

    def _look(self) -> None:
        if self._port is not None and (self._looking is None or self._looking.done()):
            self._looking = asyncio.ensure_future(self._read(self._port))

    async def _read(self, port: HookPort) -> None:
        try:
            await self._read_changes(port)
        except MqframeError as problem:
            if self._unknown:
                self._unknown = str(problem)
            log.warning("schemas of topics were not read", reason=str(problem))

    async def _read_changes(self, port: HookPort) -> None:
        heads = _heads(await port.values(NAMESPACE), self._options.topics)
        asked = {topic: head for topic, head in heads.items() if isinstance(head, SchemaHead)}
        checks: dict[str, TopicSchemas | str] = {
            topic: head for topic, head in heads.items() if isinstance(head, str)
        }
        fresh = [topic for topic, head in asked.items() if self._heads.get(topic) != head]
        tables = await asyncio.gather(*[port.values(versions_of(topic)) for topic in fresh])
        for topic, found in zip(fresh, tables, strict=True):
            checks[topic] = _ready(topic, asked[topic], found)
        kept = {topic: self._checks[topic] for topic in asked if topic not in checks}
        # Whole tables are put in place, as other threads look at them meanwhile.
        self._checks = {**kept, **checks}
        self._heads = {
            topic: head for topic, head in asked.items() if isinstance(self._checks[topic], TopicSchemas)
        }
        self._unknown = ""


def _packed(message: Message) -> list[Message]:
    """The messages in the half of a transaction that prepares a whole batch; none in any other message."""
    if message.properties.get(TRANSACTION_PREPARED) != "true":
        return []
    try:
        return decode_elements(message.topic, message.body)[0]
    except BodyError:
        return []


def _heads(tables: list[dict[str, str]], wanted: tuple[str, ...]) -> dict[str, SchemaHead | str]:
    """What counts for each topic that has a schema, or why nobody can tell."""
    heads: dict[str, SchemaHead | str] = {}
    for topic in {topic for table in tables for topic in table}:
        if wanted and topic not in wanted:
            continue
        try:
            head = merged_heads({topic: table[topic]} for table in tables if topic in table)[topic]
        except MqframeError as problem:  # one that nobody can read keeps no other topic from being heeded
            heads[topic] = str(problem)
            continue
        if head.latest:
            heads[topic] = head
    return heads


def _ready(topic: str, head: SchemaHead, tables: list[dict[str, str]]) -> TopicSchemas | str:
    """The schemas of `topic`, or why they cannot be used."""
    try:
        return TopicSchemas(SchemaHistory(topic, head, merged_versions(topic, tables)))
    except MqframeError as problem:
        log.warning(
            "schema cannot be used; messages to its topic are refused", topic=topic, reason=str(problem)
        )
        return str(problem)


@hookimpl
def register_send_hooks() -> Factories:
    """The one send hook."""
    return {"schemas": SchemaCheck}
