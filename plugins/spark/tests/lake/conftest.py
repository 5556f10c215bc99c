"""Lets tests import what they share (`lake_log`) by name."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lake_log import Log


@pytest.fixture
def log(store) -> Log:
    made = Log(store)
    for i in range(12):
        made.add(("orders", "refunds", "SCHEDULE_TOPIC_XXXX", "%RETRY%g")[i % 4], day=i // 6)
    return made
