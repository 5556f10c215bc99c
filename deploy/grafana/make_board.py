"""Writes mqframe.json, the Grafana board, next to this file: python deploy/grafana/make_board.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BROKER = 'cluster=~"$cluster",node_id=~"$node"'
USERS = f'{BROKER},is_system="false"'
TOPIC = f'{USERS},topic=~"$topic"'
GROUP = f'{USERS},consumer_group=~"$group"'
PROCESS = 'job=~"$job"'
RANGE = "[$__rate_interval]"
SHOWN = 20
"""Series of one graph."""
Query = tuple[str, str]


def rate(metric: str, by: str, where: str = BROKER) -> Query:
    """How fast a counter grows."""
    return f"sum by ({by}) (rate({metric}{{{where}}}{RANGE}))", legend(by)


def now(metric: str, by: str, where: str = BROKER, how: str = "sum") -> Query:
    """What a gauge says, over all series with the same labels `by`."""
    return f"{how} by ({by}) ({metric}{{{where}}})", legend(by)


def quantile(metric: str, share: str, by: str, where: str) -> Query:
    """What `share` of a histogram's values do not exceed."""
    per_second = f"sum by ({by}) (rate({metric}_bucket{{{where}}}{RANGE}))"
    left = [name for name in by.split(", ") if name != "le"]
    return f"histogram_quantile({share}, {per_second})", f"{share} {legend(', '.join(left)) if left else ''}"


def part(metric: str, whole: str, by: str) -> Query:
    """What part of a gauge another one is."""
    return f"{metric}{{{BROKER}}} / {whole}{{{BROKER}}}", legend(by)


def most(query: Query) -> Query:
    """The largest of `query`."""
    return f"topk({SHOWN}, {query[0]})", query[1]


def named(query: Query, name: str) -> Query:
    """`query`, called `name` in the graph."""
    return query[0], f"{query[1]} {name}".strip()


def legend(by: str) -> str:
    """Labels as they name a series."""
    return " ".join(f"{{{{{name}}}}}" for name in by.split(", "))


GROUPS = "consumer_group, topic"
LATENCY = "rocketmq_rpc_latency_milliseconds"
LAG = "rocketmq_consumer_lag"
SENDS = f'{BROKER},request_code=~"send_.*message.*"'
FAILED = f'{BROKER},response_code!~"success|pull_not_found|ok|message_not_found"'
ROWS: list[tuple[str, list[tuple[str, str, list[Query]]]]] = [
    (
        "Overview",
        [
            ("Messages in", "cps", [rate("rocketmq_messages_in_total", "node_id")]),
            ("Messages out", "cps", [rate("rocketmq_messages_out_total", "node_id")]),
            ("Bytes in", "Bps", [rate("rocketmq_throughput_in_total", "node_id")]),
            ("Bytes out", "Bps", [rate("rocketmq_throughput_out_total", "node_id")]),
            ("Lag of all groups", "short", [now(f"{LAG}_messages", "node_id", USERS)]),
            (
                "Connections",
                "short",
                [
                    named(now("rocketmq_producer_connections", "language"), "producers"),
                    named(now("rocketmq_consumer_connections", "language"), "consumers"),
                ],
            ),
        ],
    ),
    (
        "Topics",
        [
            ("Messages in by topic", "cps", [most(rate("rocketmq_messages_in_total", "topic", TOPIC))]),
            ("Messages out by topic", "cps", [most(rate("rocketmq_messages_out_total", "topic", TOPIC))]),
            ("Messages in by type", "cps", [rate("rocketmq_messages_in_total", "message_type", USERS)]),
            ("Size of messages", "bytes", [quantile("rocketmq_message_size", "0.99", "topic, le", TOPIC)]),
        ],
    ),
    (
        "Consumer groups",
        [
            ("Lag", "short", [most(now(f"{LAG}_messages", GROUPS, GROUP))]),
            ("Lag in time", "ms", [most(now(f"{LAG}_latency_milliseconds", GROUPS, GROUP, "max"))]),
            ("In flight", "short", [most(now("rocketmq_consumer_inflight_messages", GROUPS, GROUP))]),
            ("Ready", "short", [most(now("rocketmq_consumer_ready_messages", GROUPS, GROUP))]),
            (
                "Queueing",
                "ms",
                [most(now("rocketmq_consumer_queueing_latency_milliseconds", GROUPS, GROUP, "max"))],
            ),
            ("Dead letters", "cps", [rate("rocketmq_send_to_dlq_messages_total", GROUPS, GROUP)]),
            ("Members", "short", [now("rocketmq_consumer_connections", "consumer_group", GROUP)]),
            (
                "Messages out by group",
                "cps",
                [most(rate("rocketmq_messages_out_total", "consumer_group", GROUP))],
            ),
        ],
    ),
    (
        "Requests",
        [
            ("Requests", "reqps", [most(rate(f"{LATENCY}_count", "request_code"))]),
            (
                "Latency of sends",
                "ms",
                [quantile(LATENCY, share, "le", SENDS) for share in ("0.5", "0.99")],
            ),
            (
                "Answers that are no success",
                "reqps",
                [most(rate(f"{LATENCY}_count", "request_code, response_code", FAILED))],
            ),
            (
                "Budgets",
                "percentunit",
                [most(part("mqframe_budget_used", "mqframe_budget_max", "node_id, budget"))],
            ),
        ],
    ),
    (
        "Store",
        [
            (
                "Used part of the disk",
                "percentunit",
                [part("rocketmq_storage_size_bytes", "mqframe_storage_capacity_bytes", "node_id")],
            ),
            ("Messages kept", "bytes", [now("mqframe_storage_log_bytes", "node_id")]),
            (
                "Not on disk, not dispatched",
                "bytes",
                [
                    named(now("rocketmq_storage_flush_behind_bytes", "node_id"), "flush"),
                    named(now("rocketmq_storage_dispatch_behind_bytes", "node_id"), "dispatch"),
                ],
            ),
            (
                "Age of the oldest message",
                "ms",
                [now("rocketmq_storage_message_reserve_time_milliseconds", "node_id")],
            ),
            (
                "Dispatchers behind",
                "ms",
                [now("mqframe_dispatcher_latency_milliseconds", "node_id, dispatcher", how="max")],
            ),
        ],
    ),
    (
        "Delay, transactions, pop",
        [
            ("Messages in the timer", "short", [most(now("rocketmq_timing_messages", "topic"))]),
            (
                "Timer behind",
                "ms",
                [
                    named(now("rocketmq_timer_dequeue_latency_milliseconds", "node_id"), "delivery"),
                    named(now("rocketmq_timer_enqueue_latency_milliseconds", "node_id"), "intake"),
                ],
            ),
            ("Open transactions", "short", [now("rocketmq_half_messages", "node_id")]),
            (
                "Ends of transactions",
                "cps",
                [
                    named(rate("rocketmq_commit_messages_total", "node_id"), "commits"),
                    named(rate("rocketmq_rollback_messages_total", "node_id"), "rollbacks"),
                ],
            ),
            ("Pops in flight", "short", [now("rocketmq_pop_checkpoint_buffer_size", "node_id")]),
            (
                "Popped messages brought back",
                "cps",
                [most(rate("rocketmq_pop_revive_retry_messages_total", "consumer_group"))],
            ),
        ],
    ),
    (
        "Processes",
        [
            ("Processor", "percentunit", [rate("process_cpu_seconds_total", "instance", PROCESS)]),
            ("Memory", "bytes", [now("process_resident_memory_bytes", "instance", PROCESS)]),
            (
                "File descriptors",
                "short",
                [
                    named(now("process_open_fds", "instance", PROCESS), "open"),
                    named(now("process_max_fds", "instance", PROCESS), "most"),
                ],
            ),
            (
                "Garbage collections",
                "ops",
                [rate("python_gc_collections_total", "instance, generation", PROCESS)],
            ),
        ],
    ),
]


def variable(name: str, metric: str, label: str) -> dict[str, Any]:
    """A choice above the board, of the values of a label."""
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": {"query": f"label_values({metric}, {label})", "refId": name},
        "definition": f"label_values({metric}, {label})",
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "refresh": 2,
        "sort": 1,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def board() -> dict[str, Any]:
    """The board, as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, graphs in ROWS:
        panels.append(
            {"type": "row", "title": title, "id": len(panels) + 1, "collapsed": False, "panels": [],
             "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}}
        )  # fmt: skip
        y += 1
        for number, (name, unit, queries) in enumerate(graphs):
            panels.append(graph(len(panels) + 1, name, unit, queries, number % 2 * 12, y + number // 2 * 8))
        y += (len(graphs) + 1) // 2 * 8
    source = {"name": "datasource", "label": "datasource", "type": "datasource", "query": "prometheus"}
    return {
        "title": "mqframe",
        "uid": "mqframe",
        "tags": ["mqframe", "rocketmq"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                source,
                variable("job", "process_cpu_seconds_total", "job"),
                variable("cluster", "rocketmq_broker_permission", "cluster"),
                variable("node", 'rocketmq_broker_permission{cluster=~"$cluster"}', "node_id"),
                variable("topic", 'rocketmq_messages_in_total{is_system="false"}', "topic"),
                variable("group", 'rocketmq_consumer_lag_messages{is_system="false"}', "consumer_group"),
            ]
        },
        "panels": panels,
    }


def graph(number: int, title: str, unit: str, queries: list[Query], x: int, y: int) -> dict[str, Any]:
    """One graph of half the width."""
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": 8, "w": 12, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": {"type": "prometheus", "uid": "${datasource}"},
                "expr": query,
                "legendFormat": legend,
            }
            for index, (query, legend) in enumerate(queries)
        ],
    }


def text() -> str:
    """The board as a file holds it."""
    return json.dumps(board(), indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("mqframe.json").write_text(text())
