"""What AsyncAPI documents say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from faststream import FastStream
from faststream.specification import AsyncAPI
from faststream.specification.asyncapi.v3_0_0.schema.bindings import ChannelBinding
from faststream.specification.schema.bindings import ChannelBinding as ChannelBindingSpec
from faststream.specification.schema.bindings import mqtt
from mqframe_faststream import MqframeBroker, MqframeRouter
from mqframe_faststream.specification import teach
from pydantic import BaseModel

from mqframe import MessageQueue


class Order(BaseModel):
    number: int


def document(broker, version="3.0.0"):
    return (
        FastStream(broker, specification=AsyncAPI(schema_version=version))
        .schema.to_specification()
        .to_jsonable()
    )


@pytest.fixture
def broker() -> MqframeBroker:
    broker = MqframeBroker("a:1;b:2", group="billing", description="the shop")
    router = MqframeRouter(prefix="shop-")

    @router.subscriber("orders", tags=["paid", "refunded"], batch=True, max_records=7)
    @broker.publisher("bills", tag="new", delay_level=3)
    async def bill(orders: list[Order]) -> str:
        """Write a bill."""
        return ""

    @router.subscriber("events", sql="a > 1", ordered=True, group="audit", title="Audit")
    async def audit(order: Order) -> None: ...

    broker.include_router(router)
    return broker


def test_version_3_has_servers_channels_and_operations(broker) -> None:
    made = document(broker)
    assert {server["host"] for server in made["servers"].values()} == {"a:1", "b:2"}
    assert {server["protocol"] for server in made["servers"].values()} == {"rocketmq"}
    assert {name: channel["bindings"] for name, channel in made["channels"].items()} == {
        "shop-orders:Bill": {"x-rocketmq": {"topic": "shop-orders"}},
        "Audit": {"x-rocketmq": {"topic": "shop-events"}},
        "bills:Publisher": {"x-rocketmq": {"topic": "bills"}},
    }
    assert made["channels"]["shop-orders:Bill"]["address"] == "shop-orders"
    assert made["channels"]["shop-orders:Bill"]["description"] == "Write a bill."
    assert {name: operation["bindings"] for name, operation in made["operations"].items()} == {
        "shop-orders:BillSubscribe": {
            "x-rocketmq": {
                "consumerGroup": "billing",
                "tags": ["paid", "refunded"],
                "messageModel": "CLUSTERING",
                "ordered": False,
                "maxRecords": 7,
            }
        },
        "Audit": {
            "x-rocketmq": {
                "consumerGroup": "audit",
                "sql": "a > 1",
                "messageModel": "CLUSTERING",
                "ordered": True,
            }
        },
        "bills:Publisher": {"x-rocketmq": {"tag": "new", "delayLevel": 3}},
    }
    assert made["components"]["schemas"]["Order"]["properties"] == {
        "number": {"title": "Number", "type": "integer"}
    }


def test_where_groups_begin_patterns_and_queues_are_there() -> None:
    broker = MqframeBroker("a:1", group="g", consume_from="first")
    router = MqframeRouter(prefix="shop-")
    queues = [MessageQueue("orders", "broker-a", number) for number in (0, 3)]

    @router.subscriber(pattern="orders-{region}", consume_from=datetime(2026, 1, 1, tzinfo=UTC))
    async def meant(order: Order) -> None: ...

    @router.subscriber(queues=queues, group="own")
    async def read(order: Order) -> None: ...

    broker.include_router(router)
    made = document(broker)
    channels = {name: (each["address"], each["bindings"]) for name, each in made["channels"].items()}
    assert channels == {
        "shop-orders-{region}:Meant": (
            "shop-orders-{region}",
            {"x-rocketmq": {"topicPattern": "shop-orders-{region}"}},
        ),
        "shop-orders:Read": ("shop-orders", {"x-rocketmq": {"topic": "shop-orders"}}),
    }
    operations = [each["bindings"]["x-rocketmq"] for each in made["operations"].values()]
    own = {each["consumerGroup"]: (each["consumeFrom"], each.get("queues")) for each in operations}
    assert own == {"g": ("2026-01-01T00:00:00+00:00", None), "own": ("first", ["broker-a/0", "broker-a/3"])}


def test_version_2_has_them_too(broker) -> None:
    made = document(broker, "2.6.0")
    channel = made["channels"]["shop-orders:Bill"]
    assert channel["bindings"] == {"x-rocketmq": {"topic": "shop-orders"}}
    assert channel["publish"]["bindings"]["x-rocketmq"]["consumerGroup"] == "billing"


def test_bindings_of_other_brokers_are_as_before() -> None:
    teach(ChannelBinding)  # once more does no harm
    assert ChannelBinding.from_sub(None) is None
    made = ChannelBinding.from_sub(
        ChannelBindingSpec(mqtt=mqtt.ChannelBinding(topic="t", qos=0, retain=False))
    )
    assert made is not None
    assert made.mqtt is not None
    assert made.mqtt.topic == "t"
