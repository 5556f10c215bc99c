"""What all commands have in common: their session, what they tell meanwhile, how they end."""

import json
import signal

import pytest
import typer
from mqframe_spark.command_line.running import finish, note, session, show_lines, teller
from mqframe_spark.jobs.progress import BatchProgress
from mqframe_spark.jobs.sessions import SessionOptions
from mqframe_spark.jobs.watching import StopRequest, Totals

PROGRESS = BatchProgress(batch=3, rows=1200, rows_per_second=600.0, seconds=2.0, backlog=7)
FACTS = {"checkpoint": "/cp"}


def asked(*numbers: int) -> StopRequest:
    stop = StopRequest()
    for number in numbers:
        stop.ask(number)
    return stop


def test_a_session_ends_with_its_command_and_when_that_fails(sessions) -> None:
    options = SessionOptions("search", "local[2]")
    with session(options) as spark:
        assert spark is sessions
        assert sessions.stopped == 0
    assert (sessions.opened, sessions.stopped) == ([options], 1)
    with pytest.raises(KeyError, match="gone"), session(options):
        raise KeyError("gone")
    assert sessions.stopped == 2


def test_results_go_to_standard_output_and_all_else_to_standard_error(capsys) -> None:
    note("3 messages would be read")
    teller(as_json=False)(PROGRESS)
    teller(as_json=True)(PROGRESS)
    show_lines([{"text": "a"}, {"text": "ü", "n": 1}])
    out, errors = capsys.readouterr()
    assert out == '{"text":"a"}\n{"text":"ü","n":1}\n'
    first, second, third = errors.splitlines()
    assert first == "mqframe: 3 messages would be read"
    assert second == "batch 3: 1,200 rows in 2.0 s, 600 rows/s, 7 waiting"
    assert json.loads(third) == {
        "batch": 3, "rows": 1200, "seconds": 2.0, "rows_per_second": 600.0, "backlog": 7,
    }  # fmt: skip


def test_the_end_shows_totals_and_facts(capsys) -> None:
    totals = Totals(batches=2, rows=10, seconds=4.0, backlog=0)
    finish(totals, FACTS, asked(), as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "rows": 10, "batches": 2, "seconds": 4.0, "rows_per_second": 2.5, "backlog": 0, "stopped": False,
        "checkpoint": "/cp",
    }  # fmt: skip
    finish(totals, FACTS, asked(), as_json=False)
    assert capsys.readouterr().out.splitlines()[-2:] == ["stopped\tno", "checkpoint\t/cp"]


def test_an_interrupt_that_cut_a_job_short_is_an_exit_code_after_the_totals(capsys) -> None:
    with pytest.raises(typer.Exit) as end:
        finish(Totals(rows=4, stopped=True), FACTS, asked(signal.SIGINT), as_json=True)
    assert end.value.exit_code == 130
    assert json.loads(capsys.readouterr().out)["rows"] == 4


@pytest.mark.parametrize(
    ("numbers", "stopped"),
    [((signal.SIGTERM,), True), ((signal.SIGINT,), False), ((), False)],
    ids=["told to end", "was through already", "nobody asked"],
)
def test_any_other_end_is_a_success(numbers, stopped) -> None:
    finish(Totals(stopped=stopped), FACTS, asked(*numbers), as_json=True)
