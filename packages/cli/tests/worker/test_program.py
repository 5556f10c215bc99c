"""A worker, as its supervisor sees it."""

from __future__ import annotations

import signal

from mqframe_cli.processes.restarts import WRONG, Next, RestartVerdict
from mqframe_cli.worker.program import WorkerProgram


def test_it_is_started_by_its_words_and_goes_by_its_number() -> None:
    worker = WorkerProgram(3, ["python", "-m", "shop"])
    assert (worker.kind, worker.name, worker.command()) == ("worker", "3", ["python", "-m", "shop"])
    assert worker.how(-signal.SIGKILL) == "killed by SIGKILL"


def test_its_restarts_follow_the_rule_of_workers() -> None:
    assert WorkerProgram(1, []).ended(0, 1.0) == RestartVerdict(Next.FINISHED)
    assert WorkerProgram(1, []).ended(WRONG, 1.0) == RestartVerdict(Next.GIVE_UP)
    assert WorkerProgram(1, [], watched=True).ended(WRONG, 1.0) == RestartVerdict(Next.WAIT_FOR_CHANGE)
