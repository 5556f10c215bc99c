"""`mqframe spark run`, as far as it goes without Spark."""

import json
from typing import Any

import pytest
from mqframe_spark.jobs.pipeline import Pipeline
from mqframe_spark.jobs.watching import Totals

from mqframe.core.errors import MqframeError, RetryError, SettingError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--available-now", "--continuous", "5"], "--available-now and --continuous contradict"),
        (["--continuous", "-1"], "--continuous -1.0: must be a number of seconds, 0 or more"),
        (["--output-mode", "overwrite"], "--output-mode overwrite: choose one of append"),
        (["--output-mode", "update", "--sink", "mqframe"], "--output-mode update: Spark has it for no sink"),
        (["--master", "h:7077"], "--master h:7077: write local"),
        (["--master", "spark://h:7077"], "option --checkpoint is missing: with master spark://h:7077"),
        (["--conf", "x"], "--conf x: must be written key=value"),
        (["--log-level", "LOUD"], "--log-level LOUD"),
        (["--topics", "a"], "options topic and topics contradict each other"),
        (
            ["--continuous", "5", "--option", "endingOffsets=latest"],
            "endingOffsets = 'latest': only a batch, or",
        ),
        (["--option", "colour=1"], "unknown option colour = '1'"),
        (["--mode", "files"], "option path is missing; mode = 'files' needs the folder of a store"),
        (["--mode", "files", "--path", "nowhere"], "option path = 'nowhere': there is no store"),
    ],
)
def test_run_refuses_before_it_starts(command, words, said) -> None:
    problem = command.refused(
        "run", "mine.py:pipeline", "--topic", "t", "--nameserver", command.nobody, *words
    )
    assert isinstance(problem, SettingError)
    assert said in str(problem)


def test_run_needs_a_function_a_topic_and_somebody_who_answers(command, cluster) -> None:
    def problem(pipeline: str, *words: str) -> MqframeError:
        found: MqframeError = command.refused("run", pipeline, "--nameserver", cluster.nameserver, *words)
        return found

    assert "no function other; its functions: pipeline" in str(problem("mine.py:other", "--topic", "t"))
    assert "option topic is missing" in str(problem("mine.py:pipeline"))
    assert "knows no such topic" in str(problem("mine.py:pipeline", "--topic", "nowhere"))
    where = ["--nameserver", command.nobody, "--option", "retries=0"]
    nobody = command.refused("run", "mine.py:pipeline", "--topic", "t", *where)
    assert isinstance(nobody, RetryError)
    assert "no name server answered" in str(nobody)


class Started:
    """A pipeline that was started: the job it became."""

    def __init__(self, call: tuple[Any, ...]) -> None:
        self.spark, self.function, self.options, self.more = call


@pytest.fixture
def run(command, sessions, job, store, tmp_path) -> Any:
    """Runs mine.py on the topic t of a store, and gives the job and the command's result."""
    store.add()
    calls = job("pipeline.run_pipeline", Totals(batches=1, rows=3, seconds=2.0, backlog=0))

    def run(*words: str) -> tuple[Started, Any]:
        where = ["--topic", "t", "--mode", "files", "--path", str(store.folder)]
        result = command.done("run", "mine.py:pipeline", *where, *words)
        return Started(calls.pop()), result

    return run


def test_by_default_what_is_there_now_goes_to_the_console(run, sessions, store, tmp_path) -> None:
    started, result = run()
    checkpoint = started.options.checkpoint
    assert checkpoint.startswith(f"{tmp_path}/state/mqframe/spark/pipeline-")
    assert started.options == Pipeline(
        source={"topic": "t", "mode": "files", "path": str(store.folder)},
        name="pipeline",
        checkpoint=checkpoint,
        every_seconds=None,
        sink="console",
    )
    assert started.spark is sessions
    assert started.function("frame") == "frame"
    assert sessions.opened[0].name == "pipeline"
    assert sessions.stopped == 1
    assert result.stderr == f"mqframe: pipeline: checkpoint {checkpoint}\n"
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["rows", "3"], ["batches", "1"], ["seconds", "2.0"], ["rows_per_second", "1.5"], ["backlog", "0"],
        ["stopped", "no"], ["checkpoint", checkpoint],
    ]  # fmt: skip


def test_what_was_typed_is_what_the_job_gets(run, sessions, tmp_path) -> None:
    (tmp_path / "more.py").touch()
    sink = ["--sink", "parquet", "--sink-path", "out", "--sink-option", "compression=zstd"]
    how = ["--output-mode", "update", "--checkpoint", "cp", "--continuous", "0", "--name", "loud"]
    started, result = run(*sink, *how, "--py-file", "more.py", "--json")
    options = started.options
    assert (options.name, options.checkpoint, options.every_seconds) == ("loud", f"{tmp_path}/cp", 0)
    assert (options.sink, options.output_mode) == ("parquet", "update")
    assert options.sink_options == {"compression": "zstd", "path": "out"}
    assert options.given == {
        "--sink", "--sink-path", "--sink-option", "--output-mode", "--checkpoint", "--continuous",
    }  # fmt: skip
    assert sessions.opened[0].py_files == ("more.py",)
    assert json.loads(result.stdout)["checkpoint"] == f"{tmp_path}/cp"


def test_another_sink_is_another_job_with_progress_of_its_own(run) -> None:
    places = {
        run(*words)[0].options.checkpoint for words in ([], ["--available-now"], ["--name", "pipeline"])
    }
    assert len(places) == 1
    places |= {run(*words)[0].options.checkpoint for words in (["--sink", "noop"], ["--sink-path", "x"])}
    assert len(places) == 3
