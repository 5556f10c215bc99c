"""Routes of the topics in use: asked for once, polled afterwards, shared by all who ask at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mqframe.client.connection.outages import Outages
from mqframe.client.connection.route_news import NEWS
from mqframe.core.cluster.name_servers import NameServers
from mqframe.core.cluster.route import TopicRoute, default_route
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    AnswerError,
    BadAnswer,
    BodyError,
    HeaderError,
    MqframeError,
    RetryError,
    RouteError,
    answer_error,
)
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe.log import get_logger
from mqframe.net.client import Client

T = TypeVar("T")
log = get_logger("client")

MISSING_MAX: Final = 1000
"""Topics without a route that news are heard of."""


def plain(answer: Frame) -> Frame:
    """The answer as it is."""
    return answer


def read_route(answer: Frame) -> TopicRouteData:
    """What an answer to `GetRouteinfoByTopic` says. Raises `BodyError`."""
    return loose_json.decode(bytes(answer.body), TopicRouteData)


async def ask_any(
    servers: NameServers,
    invoke: Callable[[str], Awaitable[Frame]],
    read: Callable[[Frame], T],
    outages: Outages | None = None,
) -> T:
    """What `read` makes of the answer of the first of `servers` that can be reached and understood.

    Each is asked by `invoke`; `outages` logs those that cannot be.
    Raises its `AnswerError`, or `RouteError` when there is none.
    """
    problem: MqframeError | None = None
    for address in servers.tries():
        try:
            answer = await invoke(address)
        except RetryError as error:
            if outages is not None:
                outages.note("name server failed", address, error, address=address)
            problem = error
            continue
        if outages is not None:
            outages.over("name server failed", address)
        if answer.code:
            raise answer_error(answer.code, answer.remark, address)
        try:
            return read(answer)
        except (BodyError, HeaderError) as error:
            problem = BadAnswer(f"answer of {address}: {error}")
            log.warning("name server answered what cannot be read", address=address, reason=str(error))
    raise RouteError(f"no name server answered ({', '.join(servers.addresses)}): {problem}") from problem


def is_unknown_topic(problem: RouteError) -> bool:
    """Whether name servers answered that there is no such topic."""
    cause = problem.__cause__
    return isinstance(cause, AnswerError) and cause.code == ResponseCode.TOPIC_NOT_EXIST


class RouteCache:
    """Routes by topic. Belongs to one loop; `known`, `brokers` and `hear` may be called from any thread.

    `on_change`: called when a route that was in use changed, or a new one came in; `outages`: logs name
    servers that cannot be reached.
    """

    def __init__(
        self,
        remoting: Client,
        servers: NameServers,
        timeout_seconds: float,
        on_change: Callable[[], object],
        outages: Outages,
    ) -> None:
        self._remoting = remoting
        self._servers = servers
        self._timeout = timeout_seconds
        self._on_change = on_change
        self._outages = outages
        self._routes: dict[str, TopicRoute] = {}
        self.known: Callable[[str], TopicRoute | None] = self._routes.get
        """The route of a topic that is in the cache."""
        self._brokers: dict[str, dict[int, str]] = {}
        self._asking: dict[tuple[str, str, int], asyncio.Task[TopicRoute]] = {}
        self._missing: set[str] = set()
        self._wanted: set[str] = set()
        self._hearing: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Ask at once for a topic in use, or missing, that another instance in this process has news of."""
        self._loop = asyncio.get_running_loop()
        NEWS.join(self._servers.addresses, self)

    def stop(self) -> None:
        """Hear nothing more."""
        NEWS.leave(self._servers.addresses, self)
        self._loop = None
        for task in tuple(self._hearing):
            task.cancel()

    def hear(self, topic: str) -> None:
        """Another instance learnt a new route of `topic`, or a send showed that this one is old: ask soon."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed without a stop
                loop.call_soon_threadsafe(self._heard, topic)

    def _heard(self, topic: str) -> None:
        if self._loop is not None and (topic in self._routes or topic in self._missing):
            task = asyncio.ensure_future(self._renew(topic))
            self._hearing.add(task)
            task.add_done_callback(self._hearing.discard)

    def brokers(self) -> dict[str, dict[int, str]]:
        """Addresses of all brokers in the routes, by name and id; those that left the routes are gone."""
        return self._brokers

    @property
    def nameservers(self) -> tuple[str, ...]:
        """Addresses of all name servers."""
        return self._servers.addresses

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`. Raises `RouteError` when no name server knows the topic or none answers."""
        found = self._routes.get(topic)
        if found is not None and not refresh and not found.from_default:
            return found
        return await self._shared(topic, "", 0)

    async def refresh(self, topic: str, default_topic: str, queues_max: int) -> TopicRoute:
        """A route to send `topic` by, asked for now; that of `default_topic` while there is no `topic`
        (wire.md §8)."""
        return await self._shared(topic, default_topic, queues_max)

    async def poll(self) -> None:
        """Ask again for all routes in use. A topic that is gone keeps its last route."""
        for topic in sorted(self._wanted.union(self._routes)):
            await self._renew(topic, tell=True)

    async def watch(self, topic: str) -> None:
        """Have the route of `topic` in use from now on, whenever it can be had; so its brokers are known."""
        self._wanted.add(topic)
        await self._renew(topic, tell=True)

    async def _renew(self, topic: str, *, tell: bool = False) -> None:
        try:
            self._keep(topic, await self._fetch(topic), tell=tell)
        except MqframeError as problem:
            log.info("route was not renewed", topic=topic, reason=str(problem))

    async def ask(self, request: Request, body: bytes = b"") -> Frame:
        """The successful answer of one of the name servers. Raises its `AnswerError`, or `RouteError`."""
        return await self._ask(request, body, plain)

    async def _ask(self, request: Request, body: bytes, read: Callable[[Frame], T]) -> T:
        return await ask_any(
            self._servers,
            lambda address: self._remoting.invoke(address, request, body, timeout=self._timeout),
            read,
            self._outages,
        )

    async def _shared(self, topic: str, default_topic: str, queues_max: int) -> TopicRoute:
        key = (topic, default_topic, queues_max)
        task = self._asking.get(key)
        if task is None:
            return await self._begin_asking(key)
        try:
            # Shielded: one caller that gives up must not take the answer away from the others.
            return await asyncio.shield(task)
        except RouteError as problem:
            if not is_unknown_topic(problem):
                raise
        # That question may have been older than the topic, which was made before ours.
        task = self._asking.get(key)
        return await (asyncio.shield(task) if task is not None else self._begin_asking(key))

    def _begin_asking(self, key: tuple[str, str, int]) -> asyncio.Future[TopicRoute]:
        task = asyncio.ensure_future(self._find(*key))
        self._asking[key] = task
        task.add_done_callback(lambda done: self._asked(key, done))
        return asyncio.shield(task)

    def _asked(self, key: tuple[str, str, int], task: asyncio.Task[TopicRoute]) -> None:
        del self._asking[key]
        if not task.cancelled():
            task.exception()  # looked at, so that nobody is notified of an error that all callers left behind

    async def _find(self, topic: str, default_topic: str, queues_max: int) -> TopicRoute:
        try:
            route = await self._fetch(topic)
        except AnswerError as problem:
            if problem.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            if len(self._missing) < MISSING_MAX:
                self._missing.add(topic)
            if not default_topic:
                raise RouteError(f"no route to topic {topic}: {problem}") from problem
            try:
                route = default_route(topic, await self._fetch_data(default_topic), queues_max)
            except AnswerError as second:
                if second.code != ResponseCode.TOPIC_NOT_EXIST:
                    raise
                raise RouteError(
                    f"topic {topic} does not exist and brokers make none by themselves; create it: {problem}"
                ) from problem
        self._keep(topic, route)
        return self._routes[topic]

    async def _fetch(self, topic: str) -> TopicRoute:
        return TopicRoute(topic, await self._fetch_data(topic))

    async def _fetch_data(self, topic: str) -> TopicRouteData:
        return await self._ask(GetRouteinfoByTopic(topic, True), b"", read_route)

    def _keep(self, topic: str, route: TopicRoute, *, tell: bool = True) -> None:
        if not route.from_default:
            self._missing.discard(topic)
        old = self._routes.get(topic)
        if old is not None and (old.same_as(route) or (route.from_default and not old.from_default)):
            return
        self._routes[topic] = route
        brokers: dict[str, dict[int, str]] = {}
        for each in self._routes.values():
            for name, members in each.addresses().items():
                brokers.setdefault(name, {}).update(members)
        self._brokers = brokers
        self._on_change()
        if tell and not route.from_default:
            NEWS.tell(self._servers.addresses, self, topic)
