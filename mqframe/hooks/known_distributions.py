"""Which of this project's distributions brings what, for the install line of error messages.

Generated from the projects and sources of packages and plugins by
tools/generate_known_distributions.py.
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
    ("rpc_hook", "acl"): "mqframe-plugin-acl",
    ("authentication", "acl2"): "mqframe-plugin-acl",
    ("authentication", "plain_acl"): "mqframe-plugin-acl",
    ("authorization", "acl2"): "mqframe-plugin-acl",
    ("authorization", "plain_acl"): "mqframe-plugin-acl",
    ("allocation", "averagely_by_circle"): "mqframe-plugin-averagelybycircle",
    ("allocation", "bounded_load"): "mqframe-plugin-boundedload",
    ("allocation", "by_config"): "mqframe-plugin-byconfig",
    ("allocation", "consistent_hash"): "mqframe-plugin-consistenthash",
    ("allocation", "lag_aware"): "mqframe-plugin-lagaware",
    ("allocation", "machine_room"): "mqframe-plugin-machineroom",
    ("allocation", "machine_room_nearby"): "mqframe-plugin-machineroomnearby",
    ("codec", "avro"): "mqframe-plugin-avro",
    ("command", "dashboard"): "mqframe-plugin-dashboard",
    ("command", "dashboard-user"): "mqframe-plugin-dashboard",
    ("broker_service", "deduplication"): "mqframe-plugin-deduplication",
    ("broker_service", "delay"): "mqframe-plugin-delay",
    ("broker_role", "elected"): "mqframe-plugin-election",
    ("coordination", "sqlite"): "mqframe-plugin-election",
    ("coordination", "etcd"): "mqframe-plugin-etcd",
    ("command", "idempotence"): "mqframe-plugin-idempotence",
    ("broker_service", "index"): "mqframe-plugin-index",
    ("exporter", "prometheus"): "mqframe-plugin-metrics",
    ("offset_store", "local"): "mqframe-plugin-offsetstore",
    ("offset_store", "sqlite"): "mqframe-plugin-offsetstore",
    ("send_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("consume_hook", "opentelemetry"): "mqframe-plugin-opentelemetry",
    ("broker_service", "pop"): "mqframe-plugin-pop",
    ("codec", "protobuf"): "mqframe-plugin-protobuf",
    ("codec", "pydantic"): "mqframe-plugin-pydantic",
    ("broker_role", "alone"): "mqframe-plugin-replication",
    ("broker_role", "async_master"): "mqframe-plugin-replication",
    ("broker_role", "sync_master"): "mqframe-plugin-replication",
    ("broker_role", "slave"): "mqframe-plugin-replication",
    ("command", "replica"): "mqframe-plugin-replication",
    ("broker_service", "schedules"): "mqframe-plugin-schedules",
    ("command", "schedule"): "mqframe-plugin-schedules",
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
    "AsyncSimpleConsumer": "mqframe-plugin-pop",
    "PoppedMessage": "mqframe-plugin-pop",
    "SimpleConsumer": "mqframe-plugin-pop",
    "ReplicationSettings": "mqframe-plugin-replication",
    "AsyncBatchTransactionProducer": "mqframe-plugin-transactions",
    "AsyncTransaction": "mqframe-plugin-transactions",
    "AsyncTransactionProducer": "mqframe-plugin-transactions",
    "BatchTransactionProducer": "mqframe-plugin-transactions",
    "DatabaseOutcome": "mqframe-plugin-transactions",
    "EndStatus": "mqframe-plugin-transactions",
    "EndsUnfinished": "mqframe-plugin-transactions",
    "HalfMessage": "mqframe-plugin-transactions",
    "PreparedHalf": "mqframe-plugin-transactions",
    "Transaction": "mqframe-plugin-transactions",
    "TransactionListener": "mqframe-plugin-transactions",
    "TransactionProducer": "mqframe-plugin-transactions",
    "TransactionSendResult": "mqframe-plugin-transactions",
}
"""The distribution by what it adds to the names of `mqframe`."""

KNOWN_REQUESTS: Final[Mapping[int, str]] = {
    21330: "mqframe-plugin-schedules",
    21331: "mqframe-plugin-schedules",
    21332: "mqframe-plugin-schedules",
    21333: "mqframe-plugin-schedules",
    21334: "mqframe-plugin-schedules",
    200050: "mqframe-plugin-pop",
    200051: "mqframe-plugin-pop",
    200052: "mqframe-plugin-pop",
    200053: "mqframe-plugin-pop",
    200054: "mqframe-plugin-pop",
    200055: "mqframe-plugin-pop",
    200056: "mqframe-plugin-pop",
    200151: "mqframe-plugin-pop",
}
"""The distribution by the code of a request that it declares."""

KNOWN_SECTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("broker", "election"): "mqframe-plugin-election",
    ("nameserver", "metrics"): "mqframe-plugin-metrics",
    ("broker", "metrics"): "mqframe-plugin-metrics",
    ("client", "simple"): "mqframe-plugin-pop",
    ("broker", "replication"): "mqframe-plugin-replication",
}
"""The distribution by the program and the section of settings that it adds there."""

STANDARD: Final = frozenset(
    [
        "mqframe-cli",
        "mqframe-plugin-delay",
        "mqframe-plugin-election",
        "mqframe-plugin-index",
        "mqframe-plugin-metrics",
        "mqframe-plugin-offsetstore",
        "mqframe-plugin-pop",
        "mqframe-plugin-replication",
        "mqframe-plugin-selectors",
        "mqframe-plugin-sql92",
        "mqframe-plugin-storetools",
        "mqframe-plugin-transactions",
    ]
)
"""Distributions that the extra `standard` brings."""
