"""A FastStream broker over mqframe.

from faststream import FastStream
from mqframe_faststream import MqframeBroker

broker = MqframeBroker("127.0.0.1:9876", group="billing")
app = FastStream(broker)

@broker.subscriber("orders", tags="paid")
async def bill(order: Order) -> None: ...
"""

from mqframe import Sql
from mqframe_faststream.annotations import MqframeMessage
from mqframe_faststream.broker import MqframeBroker
from mqframe_faststream.errors import OptionError, ReplyTimeout
from mqframe_faststream.response import MqframePublishCommand, MqframeResponse
from mqframe_faststream.router import MqframePublisher, MqframeRoute, MqframeRouter
from mqframe_faststream.testing import TestMqframeBroker

__all__ = [
    "MqframeBroker",
    "MqframeMessage",
    "MqframePublishCommand",
    "MqframePublisher",
    "MqframeResponse",
    "MqframeRoute",
    "MqframeRouter",
    "OptionError",
    "ReplyTimeout",
    "Sql",
    "TestMqframeBroker",
]
