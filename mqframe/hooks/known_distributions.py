"""Which of this project's distributions brings what, for the install line of error messages.

Generated from projects and sources of packages and plugins by tools/generate_known_distributions.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KNOWN_DISTRIBUTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("command", "server"): "mqframe-cli",
    ("command", "nameserver"): "mqframe-cli",
    ("command", "broker"): "mqframe-cli",
    ("command", "quickstart"): "mqframe-cli",
    ("command", "plugins"): "mqframe-cli",
    ("command", "topic"): "mqframe-cli",
    ("command", "group"): "mqframe-cli",
    ("command", "message"): "mqframe-cli",
    ("command", "offset"): "mqframe-cli",
    ("command", "request"): "mqframe-cli",
    ("command", "dlq"): "mqframe-cli",
    ("command", "user"): "mqframe-cli",
    ("command", "cluster"): "mqframe-cli",
    ("command", "consume"): "mqframe-cli",
    ("command", "worker"): "mqframe-cli",
    ("command", "top"): "mqframe-cli",
    ("command", "bench"): "mqframe-cli",
    ("command", "config"): "mqframe-cli",
    ("command", "context"): "mqframe-cli",
    ("command", "mqadmin"): "mqframe-cli",
    ("broker_service", "speedups"): "mqframe-speedups",
    ("rpc_hook", "acl"): "mqframe-plugin-acl",
    ("authentication", "acl2"): "mqframe-plugin-acl",
    ("authentication", "plain_acl"): "mqframe-plugin-acl",
    ("authorization", "acl2"): "mqframe-plugin-acl",
    ("authorization", "plain_acl"): "mqframe-plugin-acl",
    ("broker_service", "admin"): "mqframe-plugin-admin",
    ("allocation", "averagely_by_circle"): "mqframe-plugin-averagelybycircle",
    ("allocation", "bounded_load"): "mqframe-plugin-boundedload",
    ("allocation", "by_config"): "mqframe-plugin-byconfig",
    ("allocation", "consistent_hash"): "mqframe-plugin-consistenthash",
    ("allocation", "lag_aware"): "mqframe-plugin-lagaware",
    ("allocation", "machine_room"): "mqframe-plugin-machineroom",
    ("allocation", "machine_room_nearby"): "mqframe-plugin-machineroomnearby",
    ("broker_service", "assignment"): "mqframe-plugin-assignment",
    ("codec", "avro"): "mqframe-plugin-avro",
    ("command", "dashboard"): "mqframe-plugin-dashboard",
    ("command", "dashboard-user"): "mqframe-plugin-dashboard",
    ("broker_service", "deduplication"): "mqframe-plugin-deduplication",
    ("command", "apply"): "mqframe-plugin-definitions",
    ("command", "definitions"): "mqframe-plugin-definitions",
    ("broker_service", "delay"): "mqframe-plugin-delay",
    ("broker_role", "elected"): "mqframe-plugin-election",
    ("coordination", "sqlite"): "mqframe-plugin-election",
    ("coordination", "etcd"): "mqframe-plugin-etcd",
    ("send_hook", "expiry"): "mqframe-plugin-expiry",
    ("consume_hook", "expiry"): "mqframe-plugin-expiry",
    ("broker_service", "grpc"): "mqframe-plugin-grpc",
    ("command", "proxy"): "mqframe-plugin-grpc",
    ("command", "idempotence"): "mqframe-plugin-idempotence",
    ("broker_service", "index"): "mqframe-plugin-index",
    ("send_hook", "sharding_key"): "mqframe-plugin-keyed",
    ("exporter", "prometheus"): "mqframe-plugin-metrics",
    ("command", "mirror"): "mqframe-plugin-mirror",
    ("rpc_hook", "namespace_v2"): "mqframe-plugin-namespaces",
    ("offset_store", "local"): "mqframe-plugin-offsetstore",
    ("offset_store", "sqlite"): "mqframe-plugin-offsetstore",
    ("send_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("consume_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("broker_service", "pop"): "mqframe-plugin-pop",
    ("broker_service", "priority"): "mqframe-plugin-priority",
    ("codec", "protobuf"): "mqframe-plugin-protobuf",
    ("codec", "pydantic"): "mqframe-plugin-pydantic",
    ("broker_service", "quotas"): "mqframe-plugin-quotas",
    ("command", "quota"): "mqframe-plugin-quotas",
    ("consume_hook", "rate_limits"): "mqframe-plugin-ratelimits",
    ("broker_role", "alone"): "mqframe-plugin-replication",
    ("broker_role", "async_master"): "mqframe-plugin-replication",
    ("broker_role", "sync_master"): "mqframe-plugin-replication",
    ("broker_role", "slave"): "mqframe-plugin-replication",
    ("command", "replica"): "mqframe-plugin-replication",
    ("broker_service", "request_reply"): "mqframe-plugin-requestreply",
    ("broker_service", "schedules"): "mqframe-plugin-schedules",
    ("command", "schedule"): "mqframe-plugin-schedules",
    ("send_hook", "schemas"): "mqframe-plugin-schemas",
    ("command", "schema"): "mqframe-plugin-schemas",
    ("selector", "random"): "mqframe-plugin-selectors",
    ("selector", "machine_room"): "mqframe-plugin-selectors",
    ("selector", "monotonic"): "mqframe-plugin-selectors",
    ("dispatcher", "parquet"): "mqframe-plugin-spark",
    ("command", "spark"): "mqframe-plugin-spark",
    ("topic_summary", "spark"): "mqframe-plugin-spark",
    ("message_filter", "SQL92"): "mqframe-plugin-sql92",
    ("command", "store"): "mqframe-plugin-storetools",
    ("send_hook", "trace"): "mqframe-plugin-trace",
    ("consume_hook", "trace"): "mqframe-plugin-trace",
    ("broker_service", "transactions"): "mqframe-plugin-transactions",
}
"""The distribution by kind and name of what it offers."""

KNOWN_NAMES: Final[Mapping[str, str]] = {
    name: distribution
    for distribution, names in {
        "mqframe-plugin-admin": "Admin AsyncAdmin DeadLetter QueueExpansion",
        "mqframe-plugin-pop": "AsyncSimpleConsumer PoppedMessage SimpleConsumer",
        "mqframe-plugin-pull": "AsyncLitePullConsumer AsyncPuller LitePullConsumer LitePullSettings Puller",
        "mqframe-plugin-replication": "ReplicationSettings",
        "mqframe-plugin-transactions": (
            "AsyncBatchTransactionProducer AsyncTransaction AsyncTransactionProducer "
            "BatchTransactionProducer DatabaseOutcome EndStatus EndsUnfinished HalfMessage PreparedHalf "
            "Transaction TransactionListener TransactionProducer TransactionSendResult"
        ),
    }.items()
    for name in names.split()
}
"""The distribution by what it adds to the names of `mqframe`."""

KNOWN_CLIENT_PARTS: Final[Mapping[str, str]] = {
    "records": "mqframe-speedups",
    "elements": "mqframe-speedups",
    "gatherer": "mqframe-speedups",
    "unique_ids": "mqframe-speedups",
    "in_flight_count": "mqframe-speedups",
    "keyed-consumers": "mqframe-plugin-keyed",
    "namespaces": "mqframe-plugin-namespaces",
    "pop-consumers": "mqframe-plugin-pop",
    "replies": "mqframe-plugin-requestreply",
    "requests": "mqframe-plugin-requestreply",
    "rebalance-listeners": "mqframe-plugin-steering",
    "topic-patterns": "mqframe-plugin-steering",
    "pauses": "mqframe-plugin-steering",
}
"""The distribution by the parts of clients that it brings."""

KNOWN_REQUESTS: Final[Mapping[int, str]] = {
    name: distribution
    for distribution, names in {
        "mqframe-plugin-admin": (
            "18 25 26 32 200 202 203 204 207 215 222 223 225 300 303 305 306 308 314 315 316 317 321 "
            "328 329 343 345 353 355 21360 21361 21902"
        ),
        "mqframe-plugin-acl": "50 51 52 53 54 3001 3002 3003 3004 3005 3006 3007 3008 3009 3010",
        "mqframe-plugin-delay": "60",
        "mqframe-plugin-requestreply": "324 325 326",
        "mqframe-plugin-assignment": "400 401 402",
        "mqframe-plugin-transactions": "21320",
        "mqframe-plugin-schedules": "21330 21331 21332 21333 21334",
        "mqframe-plugin-quotas": "21380 21381 21382 21383",
        "mqframe-plugin-pop": "200050 200051 200052 200053 200054 200055 200056 200151",
    }.items()
    for name in map(int, names.split())
}
"""The distribution by the code of a request that it declares, or alone serves."""

KNOWN_SECTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("broker", "election"): "mqframe-plugin-election",
    ("nameserver", "metrics"): "mqframe-plugin-metrics",
    ("broker", "metrics"): "mqframe-plugin-metrics",
    ("proxy", "metrics"): "mqframe-plugin-metrics",
    ("client", "simple"): "mqframe-plugin-pop",
    ("client", "lite_pull"): "mqframe-plugin-pull",
    ("client", "puller"): "mqframe-plugin-pull",
    ("broker", "replication"): "mqframe-plugin-replication",
}
"""The distribution by the program and the section of settings that it adds there."""

STANDARD: Final = frozenset(
    [
        "mqframe-cli",
        "mqframe-plugin-admin",
        "mqframe-plugin-assignment",
        "mqframe-plugin-consistenthash",
        "mqframe-plugin-delay",
        "mqframe-plugin-election",
        "mqframe-plugin-index",
        "mqframe-plugin-metrics",
        "mqframe-plugin-offsetstore",
        "mqframe-plugin-pop",
        "mqframe-plugin-pull",
        "mqframe-plugin-replication",
        "mqframe-plugin-requestreply",
        "mqframe-plugin-selectors",
        "mqframe-plugin-sql92",
        "mqframe-plugin-steering",
        "mqframe-plugin-storetools",
        "mqframe-plugin-trace",
        "mqframe-plugin-transactions",
        "mqframe-testing",
    ]
)
"""Distributions that the extra `standard` brings to every machine."""
