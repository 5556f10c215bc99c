"""Header fields with names in them."""

from __future__ import annotations

import pytest
from mqframe_namespaces.rules.fields import SEND_HALF_BATCH, strip_fields, wrap_fields
from mqframe_namespaces.rules.names import Names

from mqframe.core.requests import consumers, insight, messages, nameserver
from mqframe.core.requests.fields import Request, decode_fields, encode_fields
from mqframe.core.requests.replies import SendReplyMessage


def sent(request: Request) -> Request:
    fields = encode_fields(request)
    wrap_fields(request.CODE, fields, Names("shop"))
    return decode_fields(fields, type(request))


@pytest.mark.parametrize(
    ("request_", "within"),
    [
        (nameserver.GetRouteinfoByTopic("orders"), nameserver.GetRouteinfoByTopic("shop%orders")),
        (consumers.UnregisterClient("c", "p", "g"), consumers.UnregisterClient("c", "shop%p", "shop%g")),
        (consumers.GetConsumerListByGroup("g"), consumers.GetConsumerListByGroup("shop%g")),
        (consumers.GetMaxOffset("%RETRY%g", 0), consumers.GetMaxOffset("%RETRY%shop%g", 0)),
        (
            messages.ConsumerSendMsgBack(1, "g", 3, "id", "orders"),
            messages.ConsumerSendMsgBack(1, "shop%g", 3, "id", "shop%orders"),
        ),
        (messages.EndTransaction("p", 1, 2, 8, "id", "orders"),
         messages.EndTransaction("shop%p", 1, 2, 8, "id", "shop%orders")),
        (consumers.UpdateConsumerOffset("g", "%RETRY%g_orders", 0, 7),
         consumers.UpdateConsumerOffset("shop%g", "%RETRY%shop%g_shop%orders", 0, 7)),
        (nameserver.PutKvConfig("MQFRAME_ALLOCATION", "g/k", "v"),
         nameserver.PutKvConfig("MQFRAME_ALLOCATION", "shop%g/k", "v")),
        (nameserver.PutKvConfig("other", "g/k", "v"), nameserver.PutKvConfig("other", "g/k", "v")),
        (nameserver.GetBrokerClusterInfo(), nameserver.GetBrokerClusterInfo()),
    ],
)  # fmt: skip
def test_names_are_in_the_namespace_when_they_leave(request_: Request, within: Request) -> None:
    assert sent(request_) == within


@pytest.mark.parametrize(
    "kind", [messages.SendMessage, messages.SendMessageV2, messages.SendBatchMessage, SendReplyMessage]
)
def test_sends_in_both_forms(kind: type[Request]) -> None:
    found = sent(kind("p", "orders", "TBW102", 4, 1, 0, 99, 0, "PGROUP\x01p\x02"))  # type: ignore[call-arg]
    said = "PGROUP\x01shop%p\x02INSTANCE_ID\x01shop\x02"
    assert found == kind("shop%p", "shop%orders", "TBW102", 4, 1, 0, 99, 0, said)  # type: ignore[call-arg]


def test_half_batches_are_sends_too() -> None:
    fields = {"a": "p", "b": "orders"}
    wrap_fields(SEND_HALF_BATCH, fields, Names("shop"))
    assert fields == {"a": "shop%p", "b": "shop%orders"}


def test_what_a_broker_asks_names_what_the_client_knows() -> None:
    fields = encode_fields(insight.ResetConsumerClientOffset("shop%orders", "shop%g", 1))
    strip_fields(fields, Names("shop"))
    assert decode_fields(fields, insight.ResetConsumerClientOffset) == (
        insight.ResetConsumerClientOffset("orders", "g", 1)
    )
    fields = {"producerGroup": "shop%p", "topic": "other%t", "properties": "RETRY_TOPIC\x01shop%orders\x02"}
    strip_fields(fields, Names("shop"))
    assert fields == {"producerGroup": "p", "topic": "other%t", "properties": "RETRY_TOPIC\x01orders\x02"}
