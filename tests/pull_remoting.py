"""What blocking pullers ask, answered in this process as a test has told it."""

from __future__ import annotations

from collections import deque

from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.errors import MqframeError
from mqframe.core.requests.fields import Request
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame

ROUTE = loose_json.dumps(
    TopicRouteData(
        broker_datas=[BrokerData("a", {0: "10.0.0.1:10911"}, "c")], queue_datas=[QueueData("a", 6, 2, 2)]
    )
)


class Remoting:
    """Gives what it was told to, one after the other; notes the addresses and time-outs."""

    def __init__(self, *answers: Frame | MqframeError) -> None:
        self.answers = deque(answers)
        self.asked: list[tuple[str, float]] = []

    def invoke(self, address: str, request: Request, body: bytes = b"", *, timeout: float) -> Frame:
        self.asked.append((address, timeout))
        answer = self.answers.popleft()
        if isinstance(answer, MqframeError):
            raise answer
        return answer

    def invoke_all(self, address: str, requests: list[Request], *, timeout: float) -> list[Frame]:
        return [self.invoke(address, each, timeout=timeout) for each in requests]
