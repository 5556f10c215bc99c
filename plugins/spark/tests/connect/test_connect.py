"""Topics through Spark Connect: what a client without a JVM of its own can do."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.ports import lasting_port

from mqframe import Message, Producer

pytest.importorskip("grpc", reason="Spark Connect is not installed")
CLIENT = Path(__file__).with_name("connect_client.py")
ALL = list(range(10))


@pytest.fixture(scope="module")
def found(mqframe_shared_cluster, tmp_path_factory) -> Any:
    """What the client found, by part."""
    cluster = mqframe_shared_cluster
    for topic in ("connect-read", "connect-written", "connect-streamed"):
        cluster.create_topic(topic, 2)
    with Producer("p", nameserver=cluster.nameserver) as producer:
        for number in ALL:
            properties = {"n": str(number)}
            producer.send(
                Message("connect-read", b"%d" % number, tag=f"tag{number % 2}", properties=properties)
            )
    folder = tmp_path_factory.mktemp("connect")
    done = subprocess.run(
        [sys.executable, str(CLIENT), cluster.nameserver, str(folder), str(lasting_port())],
        cwd=folder,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_batches_are_read(found) -> None:
    assert found["batch"] == {"numbers": ALL, "tagged": 5}


def test_streams_go_on_where_they_were(found) -> None:
    assert found["stream"] == [ALL, ALL]


def test_rows_are_sent_by_batches(found) -> None:
    assert found["sink"] == sorted(ALL * 2)


def test_rows_are_sent_by_streams_exactly_once(found) -> None:
    assert found["stream_sink"] == ALL


def test_topics_are_tables_of_the_catalog(found) -> None:
    assert found["table"] == {"numbers": ALL[1::2], "columns": ["topic", "broker"]}


def test_functions_over_columns(found) -> None:
    failed = found["functions"].pop("strict_json")
    assert "json_body: field id is no bigint: x" in failed or "json_body: no JSON: no json" in failed
    assert found["functions"] == {
        "bad_json": [
            {"id": None, "cents": 3, "why": "field id is no bigint: x"},
            {"id": None, "cents": None, "why": "no JSON: no json"},
        ],
        "json": {"id": 7}, "avro": {"id": 8}, "own": [{"n": "3"}], "once": ALL,
    }  # fmt: skip


def test_errors_come_to_the_client(found) -> None:
    kind, text = found["refused"]
    assert kind == "AnalysisException"
    assert "colour" in text


def test_jobs_take_such_sessions(found) -> None:
    assert found["job"] == ["3"]


def test_listeners_are_told_lags(found) -> None:
    assert found["lag"][-1] == ["lags", 0]
