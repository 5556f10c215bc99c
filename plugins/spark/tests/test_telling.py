import subprocess
import sys

PROGRAM = """
import logging
from mqframe_spark.telling import tell
tell("gone", topic="t", count=3)
logging.getLogger("mqframe").addHandler(logging.StreamHandler())
tell("heard")
"""


def test_what_nobody_hears_is_said_on_standard_error() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=True
    )
    assert told.stderr.splitlines() == ["mqframe: gone topic='t' count=3", "heard"]
