"""Writes mqframe.json, the Grafana board, next to this file: python deploy/grafana/make_board.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BROKER = 'cluster=~"$cluster",node_id=~"$node"'
GROUP = f'{BROKER},is_system="false",consumer_group=~"$group"'
Query = tuple[str, str]

ROWS: list[tuple[str, list[tuple[str, str, list[Query]]]]] = [
    (
        "Overview",
        [
            ("Messages in", "cps", [(f"sum by (node_id) (rate(rocketmq_messages_in_total{{{BROKER}}}[$__rate_interval]))", "{{node_id}}")]),
            ("Messages out", "cps", [(f"sum by (node_id) (rate(rocketmq_messages_out_total{{{BROKER}}}[$__rate_interval]))", "{{node_id}}")]),
            ("Bytes in", "Bps", [(f"sum by (node_id) (rate(rocketmq_throughput_in_total{{{BROKER}}}[$__rate_interval]))", "{{node_id}}")]),
            ("Bytes out", "Bps", [(f"sum by (node_id) (rate(rocketmq_throughput_out_total{{{BROKER}}}[$__rate_interval]))", "{{node_id}}")]),
            ("Lag of all groups", "short", [(f'sum by (node_id) (rocketmq_consumer_lag_messages{{{BROKER},is_system="false"}})', "{{node_id}}")]),
            ("Connections", "short", [(f"sum by (language) (rocketmq_producer_connections{{{BROKER}}})", "producers, {{language}}"), (f"sum by (language) (rocketmq_consumer_connections{{{BROKER}}})", "consumers, {{language}}")]),
        ],
    ),
    (
        "Topics",
        [
            ("Messages in by topic", "cps", [(f'topk(20, sum by (topic) (rate(rocketmq_messages_in_total{{{BROKER},is_system="false",topic=~"$topic"}}[$__rate_interval])))', "{{topic}}")]),
            ("Messages out by topic", "cps", [(f'topk(20, sum by (topic) (rate(rocketmq_messages_out_total{{{BROKER},is_system="false",topic=~"$topic"}}[$__rate_interval])))', "{{topic}}")]),
            ("Messages in by type", "cps", [(f'sum by (message_type) (rate(rocketmq_messages_in_total{{{BROKER},is_system="false"}}[$__rate_interval]))', "{{message_type}}")]),
            ("Size of messages, 99%", "bytes", [(f'histogram_quantile(0.99, sum by (topic, le) (rate(rocketmq_message_size_bucket{{{BROKER},is_system="false",topic=~"$topic"}}[$__rate_interval])))', "{{topic}}")]),
        ],
    ),
    (
        "Consumer groups",
        [
            ("Lag", "short", [(f"topk(20, sum by (consumer_group, topic) (rocketmq_consumer_lag_messages{{{GROUP}}}))", "{{consumer_group}} {{topic}}")]),
            ("Lag in time", "ms", [(f"topk(20, max by (consumer_group, topic) (rocketmq_consumer_lag_latency_milliseconds{{{GROUP}}}))", "{{consumer_group}} {{topic}}")]),
            ("In flight", "short", [(f"topk(20, sum by (consumer_group, topic) (rocketmq_consumer_inflight_messages{{{GROUP}}}))", "{{consumer_group}} {{topic}}")]),
            ("Ready", "short", [(f"topk(20, sum by (consumer_group, topic) (rocketmq_consumer_ready_messages{{{GROUP}}}))", "{{consumer_group}} {{topic}}")]),
            ("Queueing", "ms", [(f"topk(20, max by (consumer_group, topic) (rocketmq_consumer_queueing_latency_milliseconds{{{GROUP}}}))", "{{consumer_group}} {{topic}}")]),
            ("Dead letters", "short", [(f"sum by (consumer_group, topic) (increase(rocketmq_send_to_dlq_messages_total{{{GROUP}}}[$__rate_interval]))", "{{consumer_group}} {{topic}}")]),
            ("Members", "short", [(f"sum by (consumer_group) (rocketmq_consumer_connections{{{GROUP}}})", "{{consumer_group}}")]),
            ("Messages out by group", "cps", [(f"topk(20, sum by (consumer_group) (rate(rocketmq_messages_out_total{{{GROUP}}}[$__rate_interval])))", "{{consumer_group}}")]),
        ],
    ),
    (
        "Requests",
        [
            ("Requests", "reqps", [(f"topk(15, sum by (request_code) (rate(rocketmq_rpc_latency_milliseconds_count{{{BROKER}}}[$__rate_interval])))", "{{request_code}}")]),
            ("Latency of sends", "ms", [(f'histogram_quantile({q}, sum by (le) (rate(rocketmq_rpc_latency_milliseconds_bucket{{{BROKER},request_code=~"send_.*message.*"}}[$__rate_interval])))', f"{float(q):.0%}") for q in ("0.5", "0.99")]),
            ("Answers that are no success", "reqps", [(f'sum by (request_code, response_code) (rate(rocketmq_rpc_latency_milliseconds_count{{{BROKER},response_code!~"success|pull_not_found"}}[$__rate_interval]))', "{{request_code}}: {{response_code}}")]),
            ("Budgets", "percentunit", [(f"topk(10, mqframe_budget_used{{{BROKER}}} / mqframe_budget_max{{{BROKER}}})", "{{node_id}} {{budget}}")]),
        ],
    ),
    (
        "Store",
        [
            ("Used part of the disk", "percentunit", [(f"rocketmq_storage_size_bytes{{{BROKER}}} / mqframe_storage_capacity_bytes{{{BROKER}}}", "{{node_id}}")]),
            ("Messages kept", "bytes", [(f"mqframe_storage_log_bytes{{{BROKER}}}", "{{node_id}}")]),
            ("Not on disk, not dispatched", "bytes", [(f"rocketmq_storage_flush_behind_bytes{{{BROKER}}}", "{{node_id}} flush"), (f"rocketmq_storage_dispatch_behind_bytes{{{BROKER}}}", "{{node_id}} dispatch")]),
            ("Age of the oldest message", "ms", [(f"rocketmq_storage_message_reserve_time_milliseconds{{{BROKER}}}", "{{node_id}}")]),
            ("Dispatchers behind", "ms", [(f"mqframe_dispatcher_latency_milliseconds{{{BROKER}}}", "{{node_id}} {{dispatcher}}")]),
        ],
    ),
    (
        "Delay, transactions, pop",
        [
            ("Messages in the timer", "short", [(f"sum by (topic) (rocketmq_timing_messages{{{BROKER}}})", "{{topic}}")]),
            ("Timer behind", "ms", [(f"rocketmq_timer_dequeue_latency_milliseconds{{{BROKER}}}", "{{node_id}} delivery"), (f"rocketmq_timer_enqueue_latency_milliseconds{{{BROKER}}}", "{{node_id}} intake")]),
            ("Open transactions", "short", [(f"rocketmq_half_messages{{{BROKER}}}", "{{node_id}}")]),
            ("Ends of transactions", "cps", [(f"sum(rate(rocketmq_commit_messages_total{{{BROKER}}}[$__rate_interval]))", "commits"), (f"sum(rate(rocketmq_rollback_messages_total{{{BROKER}}}[$__rate_interval]))", "rollbacks")]),
            ("Pops in flight", "short", [(f"rocketmq_pop_checkpoint_buffer_size{{{BROKER}}}", "{{node_id}}")]),
            ("Popped messages brought back", "cps", [(f"sum by (consumer_group) (rate(rocketmq_pop_revive_retry_messages_total{{{BROKER}}}[$__rate_interval]))", "{{consumer_group}}")]),
        ],
    ),
    (
        "Processes",
        [
            ("Processor", "percentunit", [('rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval])', "{{instance}}")]),
            ("Memory", "bytes", [('process_resident_memory_bytes{job=~"$job"}', "{{instance}}")]),
            ("File descriptors", "short", [('process_open_fds{job=~"$job"}', "{{instance}}"), ('process_max_fds{job=~"$job"}', "{{instance}} most")]),
            ("Garbage collections", "ops", [('sum by (instance, generation) (rate(python_gc_collections_total{job=~"$job"}[$__rate_interval]))', "{{instance}} {{generation}}")]),
        ],
    ),
]  # fmt: skip


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
