"""Plain pulls for plain threads: no loop, no membership. Spark tasks and other jobs read queues by it."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

from mqframe.client.pull import ANSWER_SECONDS, GROUP, check_numbers
from mqframe.core import loosejson
from mqframe.core.bodies import TopicList, TopicRouteData
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, RetryError, RouteError, answer_error
from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue
from mqframe.core.message_choice import MessageChoice, Sql, filter_of
from mqframe.core.name_servers import NameServers, parse_addresses
from mqframe.core.pull import (
    BYTES_MAX,
    MESSAGES_MAX,
    PullResult,
    RawPull,
    pull_request,
    read_answer,
    read_raw,
)
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.core.requests.fields import Request, decode_fields
from mqframe.core.requests.nameserver import GetAllTopicList, GetRouteinfoByTopic
from mqframe.core.route import TopicRoute
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings


class Puller:
    """Reads queues at any offset. Many threads may share one.

    `nameserver`: "host:port;host:port", by default the variable NAMESRV_ADDR. `remoting`: a client to share,
    which is left open; by default one is made and closed with this object. `timeout`: seconds for an answer,
    beyond the time that the broker was allowed to wait. `rpc_hooks`, `net`, `plugins`: as of `AsyncPuller`,
    for a client of its own.
    """

    def __init__(
        self,
        nameserver: str = "",
        group: str = GROUP,
        *,
        remoting: BlockingClient | None = None,
        timeout: float = ANSWER_SECONDS,
        rpc_hooks: Sequence[object] = (),
        net: NetSettings | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        addresses = parse_addresses(nameserver or os.environ.get("NAMESRV_ADDR", ""))
        self.group = group
        self._servers = NameServers(addresses, random.randrange(1 << 16))
        self._own = remoting is None
        if remoting is None:
            hooks = (plugins or default_manager()).create_all("rpc_hook", rpc_hooks) if rpc_hooks else ()
            remoting = BlockingClient(SystemClock(), net, rpc_hooks=hooks)
        self._remoting = remoting
        self._timeout = timeout
        self._routes: dict[str, TopicRoute] = {}

    def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return list(self.route(topic, refresh=True).read_queues())

    def topics(self) -> list[str]:
        """The topics that name servers know, sorted, those of the system included. Raises `RouteError`."""
        answer = self._ask_nameserver(GetAllTopicList(), "no list of topics")
        return sorted(loosejson.decode(bytes(answer.body), TopicList).topic_list)

    def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`. Raises `RouteError` when no name server knows it or none answers."""
        found = self._routes.get(topic)
        if found is not None and not refresh:
            return found
        answer = self._ask_nameserver(GetRouteinfoByTopic(topic), f"no route to topic {topic}")
        route = TopicRoute(topic, loosejson.decode(bytes(answer.body), TopicRouteData))
        self._routes[topic] = route
        return route

    def _ask_nameserver(self, request: Request, otherwise: str) -> Frame:
        problem: Exception | None = None
        for address in self._servers.tries():
            try:
                return self._call(address, request)
            except AnswerError as refused:
                raise RouteError(f"{otherwise}: {refused}") from refused
            except RetryError as failure:
                problem = failure
        tried = ", ".join(self._servers.addresses)
        raise RouteError(f"no name server answered ({tried}): {problem}") from problem

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        wait: float = 0.0,
        bytes_max: int = BYTES_MAX,
    ) -> PullResult:
        """The messages of `queue` from `offset` on that `expression` wants, `max_messages` at most.

        `wait`: seconds that the broker may wait for the first one. Raises what a call raises, and
        `AnswerError`; an offset that does not exist is no error but OFFSET_ILLEGAL.
        """
        wanted = filter_of(expression)
        answer, address = self._pull(queue, offset, max_messages, wanted, wait, bytes_max)
        return read_answer(answer, queue, wanted, address)

    def pull_raw(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> RawPull:
        """As `pull`, without waiting, with the records as they are: for readers of many messages at once.

        `bulk`: brokers of this project give more than to consumers, as their settings say.
        """
        wanted = filter_of(expression)
        answer, address = self._pull(queue, offset, max_messages, wanted, 0.0, bytes_max, bulk)
        return read_raw(answer, queue, wanted, address)

    def pull_all_raw(
        self,
        queue: MessageQueue,
        asked: Sequence[tuple[int, int]],
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> list[RawPull]:
        """Several pulls of `queue`, each (offset, most messages), sent at once; their answers in this order.

        Those behind one that failed in a way that may pass are left out. Raises as `pull_raw` when it is the
        first.
        """
        wanted = filter_of(expression)
        requests = [
            self._pull_request(queue, offset, count, wanted, 0.0, bytes_max, bulk) for offset, count in asked
        ]
        address = self._address(queue, master=False)
        found: list[RawPull] = []
        for answer in self._remoting.invoke_all(address, requests, timeout=self._timeout):
            try:
                found.append(read_raw(answer, queue, wanted, address))
            except RetryError:
                if not found:
                    raise
                break
        return found

    def _pull(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int,
        wanted: MessageChoice,
        wait: float,
        bytes_max: int,
        bulk: bool = False,
    ) -> tuple[Frame, str]:
        request = self._pull_request(queue, offset, max_messages, wanted, wait, bytes_max, bulk)
        address = self._address(queue, master=False)
        return self._remoting.invoke(address, request, timeout=wait + self._timeout), address

    def _pull_request(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int,
        wanted: MessageChoice,
        wait: float,
        bytes_max: int,
        bulk: bool,
    ) -> Request:
        check_numbers(offset, max_messages)
        return pull_request(
            self.group,
            queue,
            offset,
            messages_max=max_messages,
            bytes_max=bytes_max,
            expression=wanted.expression,
            expression_type=wanted.expression_type,
            wait_seconds=wait,
            bulk=bulk,
        )

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return self._ask(
            queue, GetMaxOffset(queue.topic, queue.queue_id, committed=True, bname=queue.broker_name)
        )

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset that can still be read."""
        return self._ask(queue, GetMinOffset(queue.topic, queue.queue_id, bname=queue.broker_name))

    def offset_at(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The offset of the first message stored at `timestamp_ms` (since 1970) or later."""
        return self._ask(
            queue,
            SearchOffsetByTimestamp(queue.topic, queue.queue_id, timestamp_ms, bname=queue.broker_name),
        )

    def committed(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none.

        For a new group on a queue that is short, and still whole, brokers say 0.
        """
        request = QueryConsumerOffset(self.group, queue.topic, queue.queue_id, bname=queue.broker_name)
        try:
            return self._ask(queue, request)
        except AnswerError as refused:
            if refused.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise

    def commit(self, queue: MessageQueue, offset: int) -> None:
        """Have the broker hold `offset` for the group, and return once it does.

        Raises `AnswerError` 26 for a group that the broker does not know; one that has pulled is known where
        brokers make groups by themselves.
        """
        check_numbers(offset, 1)
        request = UpdateConsumerOffset(
            self.group, queue.topic, queue.queue_id, offset, bname=queue.broker_name
        )
        self._call(self._address(queue, master=True), request)

    def close(self) -> None:
        """Close the connections, unless they are somebody else's."""
        if self._own:
            self._remoting.close()

    def __enter__(self) -> Puller:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _ask(self, queue: MessageQueue, request: Request) -> int:
        answer = self._call(self._address(queue, master=True), request)
        return decode_fields(answer.ext, OffsetAnswer).offset

    def _call(self, address: str, request: Request) -> Frame:
        answer = self._remoting.invoke(address, request, timeout=self._timeout)
        if answer.code:
            raise answer_error(answer.code, answer.remark, address)
        return answer

    def _address(self, queue: MessageQueue, *, master: bool) -> str:
        for refresh in (False, True):
            route = self.route(queue.topic, refresh=refresh)
            name = queue.broker_name
            address = route.master_address(name) if master else route.any_address(name)
            if address is not None:
                return address
        raise RouteError(f"the route of topic {queue.topic} names no broker {queue.broker_name}")


BlockingPuller = Puller
"""The name that `Puller` had before."""
