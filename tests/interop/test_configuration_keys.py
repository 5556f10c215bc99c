"""Our table of RocketMQ's keys, beside the classes of its versions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interop.conftest import newest_and
from interop.foreign_programs import CACHE, LATEST, OLDER, build_class_path

TOOL = Path(__file__).parents[2] / "tools/generate_rocketmq_keys.py"


@pytest.mark.parametrize("version", newest_and(OLDER, LATEST))
def test_the_table_lacks_no_key_that_a_version_has(version: str) -> None:
    build_class_path(version)
    command = [sys.executable, str(TOOL), "--check", str(CACHE / version / "lib")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
