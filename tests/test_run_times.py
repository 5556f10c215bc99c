"""What a run of tests tells of its times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import subprocess, sys

WORK = "import time\\nwhile time.process_time() < 1.0: pass"

def test_of_a_child():
    subprocess.run([sys.executable, "-c", WORK], check=True)

def test_of_nothing():
    pass
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_each_test_and_each_file_is_told_with_what_it_cost(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "run_times", "-n", processes, "-c", os.devnull]
    ran = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "--run-times", "kept/times.tsv", "test_it.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    head, *lines = (tmp_path / "kept/times.tsv").read_text("utf-8").splitlines()
    assert head == "elapsed\tprocessor\twhat"
    rows = {name: (float(elapsed), float(spent)) for elapsed, spent, name in (x.split("\t") for x in lines)}
    one, none = rows["test_it.py::test_of_a_child"], rows["test_it.py::test_of_nothing"]
    assert one[1] >= 1.0 > none[1]
    assert rows["test_it.py"] == pytest.approx((one[0] + none[0], one[1] + none[1]), abs=0.05)
    shown = ran.stdout.partition("slowest tests")[2]
    assert shown.index("test_of_a_child") < shown.index("test_of_nothing")
