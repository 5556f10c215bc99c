"""What a broker is told of its connection, checked when it is made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

import attrs

from mqframe import (
    ClientSettings,
    ConsumerSettings,
    FixError,
    NetSettings,
    PluginManager,
    ProducerSettings,
    TransactionListener,
)
from mqframe.core.cluster.name_servers import parse_addresses
from mqframe.core.messages.names import check_group
from mqframe_faststream.connection import PATTERN_SECONDS, ConnectionOptions
from mqframe_faststream.errors import OptionError
from mqframe_faststream.security import secured

if TYPE_CHECKING:
    from faststream.security import BaseSecurity

NAMESERVER = "127.0.0.1:9876"
PRODUCER_GROUP = "faststream"


class ConnectionKeywords(TypedDict, total=False):
    """How a broker connects.

    `client`, `producer`, `consumer`, `net`: settings of mqframe; `send_hooks`, `consume_hooks`, `rpc_hooks`:
    names, classes or objects; `plugins`: the plugin manager; `transaction_listener`: says how transactions
    ended, as `mqframe.DatabaseOutcome` does; `topic_queues`: queues of topics that subscribers find missing,
    4 by default, 0 to make none; `pattern_seconds`: how often name servers are asked for topics that patterns
    of subscribers mean, s (30).
    """

    client: ClientSettings | None
    producer: ProducerSettings | None
    consumer: ConsumerSettings | None
    net: NetSettings | None
    send_hooks: Sequence[object]
    consume_hooks: Sequence[object]
    rpc_hooks: Sequence[object]
    plugins: PluginManager | None
    transaction_listener: TransactionListener | None
    topic_queues: int
    pattern_seconds: float


def addresses_of(nameserver: str | Iterable[str], client: ClientSettings | None) -> tuple[str, ...]:
    """The name servers: as given, else of `client`, NAMESRV_ADDR, this machine. Raises `SettingError`."""
    text = nameserver if isinstance(nameserver, str) else ";".join(nameserver)
    if not text and client is not None:
        text = client.nameserver
    return parse_addresses(text or os.environ.get("NAMESRV_ADDR") or NAMESERVER)


def options_of(
    addresses: tuple[str, ...], group: str, security: BaseSecurity | None, given: ConnectionKeywords
) -> ConnectionOptions:
    """How to connect. Raises `OptionError`, and `PluginError` for hooks that are not installed."""
    unknown = set(given) - ConnectionKeywords.__annotations__.keys()
    if unknown:
        raise OptionError(f"MqframeBroker takes no option {', '.join(sorted(unknown))}")
    plugins = given.get("plugins") or PluginManager()
    net, rpc_hooks = secured(security, given.get("net"), given.get("rpc_hooks", ()))
    queues = given.get("topic_queues", 4)
    if not 0 <= queues <= 65_536:
        raise OptionError(f"topic_queues is {queues}; 0 to 65536 are allowed")
    seconds = given.get("pattern_seconds", PATTERN_SECONDS)
    if not seconds > 0:
        raise OptionError(f"pattern_seconds is {seconds} s; it must be more than 0")
    try:
        check_group(group or PRODUCER_GROUP)
    except FixError as problem:
        raise OptionError(str(problem)) from None
    client = attrs.evolve(given.get("client") or ClientSettings(), nameserver=";".join(addresses))  # type: ignore[misc]
    return ConnectionOptions(
        producer_group=group or PRODUCER_GROUP,
        client=client,
        producer=given.get("producer"),
        consumer=given.get("consumer") or ConsumerSettings(),
        net=net,
        send_hooks=plugins.create_all("send_hook", given.get("send_hooks", ())),
        consume_hooks=plugins.create_all("consume_hook", given.get("consume_hooks", ())),
        rpc_hooks=plugins.create_all("rpc_hook", rpc_hooks),
        listener=given.get("transaction_listener"),
        plugins=plugins,
        topic_queues=queues,
        pattern_seconds=seconds,
    )
