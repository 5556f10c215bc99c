"""Where gRPC clients knock: Apache's proxy or ours, with what a test makes behind it first."""

from __future__ import annotations

from collections.abc import Mapping

from real_time import until

from mqframe import Admin
from mqframe.core.consuming.group_config import SubscriptionGroupConfig

POLLING_MS = 1_000, 5_000
"""For how long doors have receives wait, at least and at most: tests would else wait for each empty one."""
INVISIBLE_MIN_MS = 1_000


class Door:
    """A server that speaks gRPC, and the name server of the broker behind it.

    `endpoint`: "127.0.0.1:port"; `nameserver`: the same; `apache`: whether it or that broker is Apache's;
    `brokers`: how many there are; `operator`: the keys of who makes topics and groups, where there is access
    control.
    """

    def __init__(
        self,
        endpoint: str,
        nameserver: str,
        *,
        apache: bool = False,
        brokers: int = 1,
        operator: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.nameserver = nameserver
        self.apache = apache
        self._brokers = brokers
        self._hooks = [("acl", operator)] if operator else []

    def admin(self) -> Admin:
        """A client for what operators do."""
        return Admin(nameserver=self.nameserver, rpc_hooks=self._hooks)

    def create_topic(self, name: str, message_type: str = "NORMAL", queues: int = 4) -> None:
        """Make a topic for messages of one type: NORMAL, FIFO, DELAY, TRANSACTION or MIXED.

        `queues`: of all brokers together; with fewer of them than brokers some have none. Simple consumers
        ask one after the other, and wait at each; Python's ask any, one many times in a row perhaps.
        """
        each = max(queues // self._brokers, 1)
        with self.admin() as admin:
            for broker in sorted(admin.cluster.masters())[:queues]:
                attributes = {"message.type": message_type}
                admin.topics.create(name, queues=each, attributes=attributes, broker=broker)
            until(lambda: name in admin.topics.list())

    def create_group(self, name: str, ordered: bool = False, retries: int = 16) -> None:
        """Make a consumer group, whose members are given each message `retries` times more at most."""
        config = SubscriptionGroupConfig(
            group_name=name, consume_message_orderly=ordered, retry_max_times=retries
        )
        with self.admin() as admin:
            admin.groups.create(config)
