"""A standalone cluster of two workers, one of which is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_time import until
from standalone_spark import SECONDS_MAX, StandaloneSpark

from mqframe import Message, Producer, Puller

DRIVER = Path(__file__).with_name("standalone_driver.py")
MESSAGES = 400
KILL_AFTER = 60


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[StandaloneSpark]:
    made = StandaloneSpark(tmp_path)
    try:
        made.start()
        for name in ("first", "second"):
            made.add_worker(name)
        yield made
    finally:
        made.close()


def count(puller: Puller, topic: str) -> int:
    """How many messages consumers can see."""
    return sum(puller.max_offset(queue) - puller.min_offset(queue) for queue in puller.queues(topic))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stream_outlives_the_kill_of_a_worker_and_writes_each_row_once(
    standalone: StandaloneSpark, mqframe_cluster: Any, tmp_path: Path
) -> None:
    nameserver = mqframe_cluster.nameserver
    for topic in ("ordered", "settled"):
        mqframe_cluster.create_topic(topic, 2)
    with Producer("p", nameserver=nameserver) as producer:
        for first in range(0, MESSAGES, 100):
            producer.send_batch([Message("ordered", b"%d" % (first + n)) for n in range(100)])
    given = {
        "master": standalone.master, "nameserver": nameserver, "source": "ordered", "target": "settled",
        "checkpoint": str(tmp_path / "checkpoint"),
    }  # fmt: skip
    driver = subprocess.Popen(
        [sys.executable, str(DRIVER), json.dumps(given)],
        env=standalone.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        with Puller(nameserver=nameserver) as puller:
            until(lambda: driver.poll() is not None or count(puller, "settled") >= KILL_AFTER, SECONDS_MAX)
        assert driver.poll() is None, driver.communicate()[1][-3000:]
        assert [len(standalone.executors(name)) for name in ("first", "second")] == [1, 1]
        standalone.kill("first")
        said, problems = driver.communicate(timeout=SECONDS_MAX)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert driver.returncode == 0, problems[-3000:]
    bodies = Counter(json.loads(said.splitlines()[-1]))
    assert bodies == Counter(str(number) for number in range(MESSAGES))
