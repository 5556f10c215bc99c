"""A name server of a test, with a client of it, and registrations to send it."""

from __future__ import annotations

import json
from typing import Any

from core.cluster.registrations import encode_register_body
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.requests import Request
from mqframe.core.requests import nameserver as ns
from mqframe.core.storage.record import body_crc
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.frame import Frame
from mqframe.nameserver import NameServer, NameServerSettings
from mqframe.net.client import Client


class Place:
    """A running name server and a client of it."""

    def __init__(self, **settings: Any) -> None:
        self.clock = ManualClock()
        self.server = NameServer(NameServerSettings(port=0, **settings), self.clock)
        self.client = Client(ManualClock())

    async def __aenter__(self) -> Place:
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.server.stop()

    async def call(self, request: Request, body: bytes = b"") -> Frame:
        answer = await self.client.invoke(self.server.address, request, body)
        answer.body = bytes(answer.body)
        return answer

    async def json(self, request: Request) -> Any:
        answer = await self.call(request)
        assert answer.code == 0, answer.remark
        return json.loads(bytes(answer.body))

    async def register(
        self, *topics: str, compressed: bool = False, crc: int | None = None, **more: Any
    ) -> Frame:
        name, broker_id = more.pop("name", "broker-a"), more.pop("broker_id", 0)
        version = DataVersion(more.pop("counter", 1), more.pop("state", 0), 7)
        kinds = more.pop("kinds", {})
        host = more.pop("host", broker_id)
        table = {
            topic: TopicConfig(
                topic_name=topic, read_queue_nums=4, write_queue_nums=4, **kinds.get(topic, {})
            )
            for topic in topics
        }
        body = encode_register_body(
            RegisterBrokerBody([], TopicConfigTable(version, None, table)), compressed
        )
        request = ns.RegisterBroker(
            name,
            f"127.0.0.{host + 1}:10911",
            "C",
            f"127.0.0.{host + 1}:10912",
            broker_id,
            compressed=compressed,
            body_crc32=body_crc(body) if crc is None else crc,
            **more,
        )
        return await self.call(request, body)
