"""`mqframe message send --delay …` and `recall`, on a real broker."""

from __future__ import annotations

import json
import time
from datetime import datetime

import pytest
from mqframe_cli.app import app
from mqframe_testing.cluster import Cluster
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


def run(cluster, *words, code=0):
    result = CliRunner().invoke(app, [*words, "--nameserver", cluster.nameserver, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if code == 0 else None


def test_a_message_is_sent_for_later_and_taken_back(cluster):
    later = time.time() + 3600
    wishes = {
        "--delay": "1h",
        "--deliver-at": datetime.fromtimestamp(later).isoformat(),
    }
    for option, value in wishes.items():
        sent = run(cluster, "message", "send", "cli-later", "x", option, value)
        recalled = run(cluster, "message", "recall", "cli-later", sent["recall_handle"])
        assert recalled == {"recalled": sent["message_id"]}
    sent = run(cluster, "message", "send", "cli-later", "x", "--delay-level", "3")
    assert "recall_handle" not in sent
    assert cluster.broker.store.queues.max_offset("SCHEDULE_TOPIC_XXXX", 2) == 1
    assert cluster.broker.store.queues.max_offset("cli-later", 0) == 0
