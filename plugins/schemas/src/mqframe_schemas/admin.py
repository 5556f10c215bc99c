"""Schemas of topics, for programs: set, shown, compared and deleted through an `Admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqframe.core.errors import FixError
from mqframe.core.messages.names import check_topic
from mqframe_schemas.formats.bodies import ParsedSchema, SchemaFormat
from mqframe_schemas.formats.chosen import format_called, format_of
from mqframe_schemas.rules.compatibility import Rule, breaks
from mqframe_schemas.rules.history import (
    NAMESPACE,
    VALUE_BYTES_MAX,
    SchemaHead,
    SchemaHistory,
    SchemaVersion,
    merged_heads,
    merged_versions,
    next_history,
    text_of,
    value_bytes,
    versions_of,
)
from mqframe_schemas.topic_schemas import TopicSchemas

if TYPE_CHECKING:
    from mqframe import Admin


class IncompatibleSchema(FixError):
    """A new version breaks the rule of its topic. `reasons`: a line for each thing that could not be read."""

    def __init__(self, topic: str, rule: Rule, reasons: list[str]) -> None:
        said = "; ".join(reasons)
        super().__init__(
            f"the schema breaks the rule {rule} of topic {topic}: {said}; change it, or set it with force"
            " where readers and messages of before do not matter"
        )
        self.reasons = reasons


class SchemasAdmin:
    """The schemas of all topics, which the name servers that `admin` knows keep.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            SchemasAdmin(admin).set("orders", Order)

    A schema is a dict, a text or bytes, a model of pydantic, a class that protoc generated, or one with
    `__avro_schema__`. Raises `FixError` for what is none; a `RetryError` where no name server answers, and
    for changes where one of them does not: the same call may be made again then.
    """

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def topics(self) -> dict[str, SchemaHead]:
        """What counts for each topic that has a schema now, by name."""
        heads = merged_heads(self._admin.kv.list_each(NAMESPACE))
        return {topic: heads[topic] for topic in sorted(heads) if heads[topic].latest}

    def history(self, topic: str) -> SchemaHistory:
        """All versions of the schema of `topic`."""
        kept = self._admin.kv.list_each(NAMESPACE)
        head = merged_heads({topic: each[topic]} for each in kept if topic in each).get(topic)
        tables = self._admin.kv.list_each(versions_of(topic))
        return SchemaHistory(topic, head, merged_versions(topic, tables))

    def schemas(self, topic: str) -> TopicSchemas:
        """Those of `topic`, to read its messages with. Raises `FixError` where it has none."""
        return TopicSchemas(self.history(topic))

    def check(
        self, topic: str, source: Any, *, format: str = "", message: str = "", rule: str = ""
    ) -> list[str]:
        """What the schema `source` would break, a line each; nothing where it may be set."""
        history = self.history(topic)
        kind, parsed = _parsed(source, format, message)
        return _breaks(history, _rule(history, rule), kind, parsed)

    def set(
        self,
        topic: str,
        source: Any,
        *,
        format: str = "",
        message: str = "",
        rule: str = "",
        force: bool = False,
    ) -> SchemaHistory:
        """Have producers keep to the schema `source` from now on, as a new version unless it was one already.

        `format`: "json", "avro" or "protobuf", else found by itself; `message`: of a descriptor set, the full
        name of the message type; `rule`: for this change and the next ones, by default as before, at first
        "backward"; `force`: the rule does not hold for this change, and later ones are not compared with what
        was before. What was set already is written anew, to name servers that have lost it.
        Raises `IncompatibleSchema`.
        """
        check_topic(topic)
        history = self.history(topic)
        kind, parsed = _parsed(source, format, message)
        chosen = _rule(history, rule)
        new = _version(history, kind, parsed)
        head = history.head
        if history.latest != new or head is None:
            broken = [] if force else _breaks(history, chosen, kind, parsed)
            if broken:
                raise IncompatibleSchema(topic, chosen, broken)
            anew = force or chosen is Rule.NONE or head is None
            since = new.number if anew or head is None else head.since
            history = next_history(history, new, chosen, since)
        elif head.rule is not chosen:
            history = next_history(history, new, chosen, head.since)
        self._write(history)
        return history

    def delete(self, topic: str, *, versions: bool = False) -> None:
        """Ask no schema of messages to `topic` any more; raises `FixError` where none is asked.

        Its versions stay, for whoever reads older messages, and their numbers are not given again; with
        `versions` they are forgotten as well.
        """
        history = self.history(topic)
        if history.head is None or not (history.head.latest or (versions and history.versions)):
            raise FixError(f"topic {topic} has no schema")
        self._write(next_history(history, None, history.head.rule, history.head.since), versions=not versions)
        if versions:
            for version in history.versions:
                self._admin.kv.delete(versions_of(topic), str(version.number))

    def _write(self, history: SchemaHistory, *, versions: bool = True) -> None:
        """The versions first: whoever finds the head finds them."""
        for version in history.versions if versions else ():
            self._admin.kv.put(versions_of(history.topic), str(version.number), text_of(version))
        assert history.head is not None
        self._admin.kv.put(NAMESPACE, history.topic, text_of(history.head))


def _parsed(source: Any, format: str, message: str) -> tuple[SchemaFormat, ParsedSchema]:
    kind = format_called(format) if format else format_of(source)
    return kind, kind.parse(source, message)


def _rule(history: SchemaHistory, rule: str) -> Rule:
    if not rule:
        return Rule.BACKWARD if history.head is None else history.head.rule
    try:
        return Rule(rule)
    except ValueError:
        raise FixError(f"there is no rule {rule!r}; rules: {', '.join(Rule)}") from None


def _version(history: SchemaHistory, kind: SchemaFormat, parsed: ParsedSchema) -> SchemaVersion:
    """The version that says the same, else one with the next number."""
    number = max((each.number for each in history.versions), default=0) + 1
    same = (kind.name, parsed.text, parsed.name)
    known = (each for each in reversed(history.versions) if (each.format, each.text, each.name) == same)
    new = next(known, SchemaVersion(number, kind.name, parsed.text, parsed.name))
    if value_bytes(new) > VALUE_BYTES_MAX:
        raise FixError(
            f"the schema takes {value_bytes(new)} bytes in a request, {VALUE_BYTES_MAX} are the most; leave"
            " out descriptions, or what other topics' messages are made of"
        )
    return new


def _breaks(history: SchemaHistory, rule: Rule, kind: SchemaFormat, parsed: ParsedSchema) -> list[str]:
    if rule is Rule.NONE:
        return []
    others = [each.number for each in history.compared if each.format != kind.name]
    if others:
        return [f"version {number} is of another kind" for number in others]
    return breaks(rule, history.compared, parsed, kind.unread)
