"""Tells where the time of a run goes: `PYTHONPATH=tests pytest -p run_times`.

The summary names the tests that took longest; `build/run_times.tsv`, or the file of `--run-times`, has every
test and every file of tests. Elapsed seconds are those of set-up, call and tear-down together. Processor
seconds are those of the process that ran the test and of the children that it waited for meanwhile: a server
that several tests share counts where it is ended.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

SHOWN = 50


@attrs.define
class Spent:
    """What was spent on a test, or on a file of them."""

    elapsed_seconds: float = 0.0
    processor_seconds: float = 0.0

    def add(self, elapsed_seconds: float, processor_seconds: float) -> None:
        """Add one phase of a test."""
        self.elapsed_seconds += elapsed_seconds
        self.processor_seconds += processor_seconds


def processor_seconds() -> float:
    """What this process and the children it has waited for have spent."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class RunTimes:
    """Measures in the processes that run tests; adds up, shows and keeps in the one that reports."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: dict[str, Spent] = defaultdict(Spent)
        self._before = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """Let a report carry what its phase cost; pytest-xdist hands attributes on."""
        report: Any = yield
        now = processor_seconds()
        report.processor_seconds, self._before = now - self._before, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add a phase to its test; that of a process that died was not measured."""
        self._tests[report.nodeid].add(report.duration, getattr(report, "processor_seconds", 0.0))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the tests that took longest, and keep all."""
        files: dict[str, Spent] = defaultdict(Spent)
        for name, spent in self._tests.items():
            files[name.partition("::")[0]].add(spent.elapsed_seconds, spent.processor_seconds)
        tests = longest_first(self._tests)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        kept = "\n".join([HEAD, *longest_first(files), *tests, ""])
        self._file.write_text(kept, encoding="utf-8")
        terminalreporter.section(f"slowest tests (all: {self._file})")
        for line in [HEAD, *tests[:SHOWN]]:
            terminalreporter.write_line(line)


HEAD = "elapsed\tprocessor\twhat"


def longest_first(spent: dict[str, Spent]) -> list[str]:
    """A line each, in seconds."""
    by_time = sorted(spent.items(), key=lambda entry: -entry[1].elapsed_seconds)
    return [f"{what.elapsed_seconds:.2f}\t{what.processor_seconds:.2f}\t{name}" for name, what in by_time]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the times are kept."""
    parser.addoption("--run-times", type=Path, help="file for the times of tests (build/run_times.tsv)")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process."""
    file = config.getoption("--run-times") or config.rootpath / "build/run_times.tsv"
    config.pluginmanager.register(RunTimes(file), "mqframe run times")
