"""`mqframe message send --delay …` and `recall`, on a real broker."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta

import pytest
from typer.testing import CliRunner

from mqframe.cli.app import app
from mqframe.cli.later import parse_delay, parse_time
from mqframe.core.errors import SettingError
from mqframe.testing.cluster import Cluster


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
    assert cluster.broker.store.queue_max("SCHEDULE_TOPIC_XXXX", 2) == 1
    assert cluster.broker.store.queue_max("cli-later", 0) == 0


@pytest.mark.parametrize(
    ("text", "delay"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("3d", 259_200), ("250ms", 0.25)],
)
def test_a_delay_has_a_unit(text, delay):
    assert parse_delay(text) == timedelta(seconds=delay)


@pytest.mark.parametrize("text", ["", "-5", "5 s", "s", "1w", "١s"])
def test_a_delay_that_is_none(text):
    with pytest.raises(SettingError, match="write a number and ms"):
        parse_delay(text)


def test_a_time_is_a_time():
    assert parse_time("1700000000000") == 1_700_000_000_000
    assert parse_time("2023-11-14T22:13:20Z").timestamp() == 1_700_000_000
    assert parse_time("2023-11-14T22:13:20+01:00").timestamp() == 1_699_996_400
    local = parse_time("2023-11-14T22:13:20")
    assert local.tzinfo is not None
    assert local.replace(tzinfo=None) == datetime(2023, 11, 14, 22, 13, 20)
    for text in ("", "tomorrow", "25:00"):
        with pytest.raises(SettingError, match="write a time"):
            parse_time(text)
