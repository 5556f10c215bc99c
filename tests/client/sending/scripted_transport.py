"""A transport of sends without a network: two brokers with a queue each, whose answers a test scripts."""

from __future__ import annotations

from collections import deque

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.codes import VERSION
from mqframe.core.errors import CallTimeout
from mqframe.core.wire.frame import Frame

OK = {"msgId": "OFF", "queueId": "0", "queueOffset": "5"}


def answer(code=0, remark=None):
    return Frame(code, remark=remark, ext=OK)


class ScriptedTransport:
    """Answers with what it was given, in order; each answer takes `seconds`."""

    def __init__(self, clock, *script, brokers="ab", seconds=0.0):
        self.clock = clock
        self.script = deque(script)
        self.seconds = seconds
        self.asked = []
        self.slept = []
        self.route = TopicRoute(
            "t",
            TopicRouteData(
                broker_datas=[BrokerData(name, {0: f"{name}:10911"}, "x") for name in brokers],
                queue_datas=[QueueData(name, 6, 1, 1) for name in brokers],
            ),
        )
        self.routes_asked = 0
        self.doubted = []
        self.version = VERSION

    def known_route(self, topic):
        return self.route

    def doubt_route(self, topic):
        self.doubted.append((topic, self.clock.monotonic()))

    async def find_route(self, topic, seconds):
        self.routes_asked += 1
        return self.route

    async def invoke(self, address, request, body=b"", *, timeout):
        self.asked.append((address, request, body, timeout))
        self.clock.advance(self.seconds)
        outcome = self.script.popleft() if self.script else answer()
        if isinstance(outcome, BaseException):
            if isinstance(outcome, CallTimeout):
                self.clock.advance(timeout)
            raise outcome
        return outcome

    async def oneway(self, address, request, body=b"", *, timeout):
        self.asked.append((address, request, body, timeout))
        if self.script:
            raise self.script.popleft()

    async def broker_version(self, address, seconds):
        return self.version

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.clock.advance(seconds)

    @property
    def brokers(self):
        return [address[0] for address, *_ in self.asked]
