"""Schemas that name servers keep, ours and Apache's."""

from __future__ import annotations

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import Admin, Message, Producer

pytestmark = pytest.mark.proves("sending")

mqframe_schemas = pytest.importorskip("mqframe_schemas", reason="the plugin is not installed")
FIRST = {
    "title": "größer",
    "type": "object",
    "properties": {"id": {"type": "integer"}, 'say "it"': {"type": "string"}},
    "required": ["id"],
}
SECOND = {**FIRST, "properties": {**FIRST["properties"], "note": {"type": "string"}}}  # type: ignore[dict-item]
LARGE = {**SECOND, "description": "x" * 150_000}


def test_producers_keep_to_what_the_name_server_keeps(servers: Servers, topic: str) -> None:
    with Admin(nameserver=servers.nameserver) as admin:
        schemas = mqframe_schemas.SchemasAdmin(admin)
        schemas.set(topic, FIRST)
        schemas.set(topic, SECOND)
        history = schemas.set(topic, LARGE)
        assert [each.number for each in history.versions] == [1, 2, 3]
        assert schemas.history(topic) == history
        options = {"refresh_seconds": 0.2, "topics": [topic]}
        with Producer(
            "interop", nameserver=servers.nameserver, send_hooks=[("schemas", options)]
        ) as producer:
            old = Message(topic, b'{"id":7}', properties={"schemaVersion": "1"})
            ids = [producer.send(each).offset_message_id for each in (old, Message(topic, b'{"id":8}'))]
            stored = [admin.messages.by_id(each) for each in ids]
            assert [each.properties["schemaVersion"] for each in stored] == ["1", "3"]
            assert [schemas.schemas(topic).decode(each) for each in stored] == [{"id": 7}, {"id": 8}]
            with pytest.raises(mqframe_schemas.BodyRefused, match=r"at \$\.id: must be of type integer"):
                producer.send(Message(topic, b'{"id":"x"}'))
            schemas.delete(topic)

            def goes() -> bool:
                try:
                    producer.send(Message(topic, b'{"id":"x"}'))
                except mqframe_schemas.BodyRefused:
                    return False
                return True

            until(goes)
        schemas.delete(topic, versions=True)
        assert schemas.history(topic).versions == ()
