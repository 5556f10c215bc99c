"""What a user's function may return, without Spark first, then with it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.jobs.pipeline import Pipeline, run_pipeline, sink_options
from mqframe_spark.jobs.progress import BatchProgress
from mqframe_spark.jobs.watching import StopRequest

from mqframe.core.errors import FixError, GiveUpError, SettingError

SOURCE = {"nameserver": "n:1", "topic": "t", "accessKey": "a", "secretKey": "s"}


class Spark:
    """Reads a stream that is only a name."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.readStream = self

    def format(self, name: str) -> Any:
        assert name == "mqframe"
        return self

    def options(self, **given: str) -> Any:
        self.given = given
        return self

    def load(self) -> str:
        return "frame"


class DataFrame:
    """Named as Spark's are."""

    isStreaming = False


class StreamingQuery:
    """Named as Spark's are."""

    isActive = False

    def __init__(self) -> None:
        self.stops = 0
        self.recentProgress: list[Any] = []
        self.status = {"isTriggerActive": False}

    def awaitTermination(self, timeout: int | None = None) -> bool:
        return True

    def stop(self) -> None:
        self.stops += 1


def options(**change: Any) -> Pipeline:
    return Pipeline(**{"source": SOURCE, "name": "p", "checkpoint": "/cp", **change})


@pytest.mark.parametrize("made", [None, 3, [DataFrame()]])
def test_nonsense_is_named(made) -> None:
    with pytest.raises(SettingError, match=f"^the pipeline returned {type(made).__name__}; return a DataFr"):
        run_pipeline(Spark(), lambda frame: made, options())


def test_what_the_function_raises_is_told_with_its_place() -> None:
    def fails(frame: Any) -> Any:
        raise KeyError("colour")

    with pytest.raises(FixError, match=r"^the pipeline failed: KeyError: 'colour' \(test_pipeline.py, "):
        run_pipeline(Spark(), fails, options())


def test_a_frame_that_is_no_stream_is_refused() -> None:
    with pytest.raises(SettingError, match="returned a DataFrame that is no stream"):
        run_pipeline(Spark(), lambda frame: DataFrame(), options())


def test_the_function_gets_the_stream_of_the_source() -> None:
    spark, got = Spark(), []
    query = StreamingQuery()
    run_pipeline(spark, lambda frame: got.append(frame) or query, options())
    assert got == ["frame"]
    assert spark.given == SOURCE


def test_a_query_that_was_started_is_stopped_where_options_could_not_take_effect() -> None:
    query = StreamingQuery()
    given = frozenset({"--sink", "--checkpoint"})
    with pytest.raises(SettingError, match="started its query itself, so --checkpoint, --sink cannot"):
        run_pipeline(Spark(), lambda frame: query, options(given=given))
    assert query.stops == 1


def test_writing_to_mqframe_goes_to_the_cluster_that_is_read() -> None:
    given = options(sink="mqframe", sink_options={"topic": "out", "secretKey": "other"})
    assert sink_options(given) == {
        "nameserver": "n:1",
        "accessKey": "a",
        "topic": "out",
        "secretKey": "other",
    }
    elsewhere = options(sink="mqframe", sink_options={"topic": "out", "nameServer": "m:1"})
    assert sink_options(elsewhere) == {"topic": "out", "nameServer": "m:1"}
    assert sink_options(options(sink="parquet", sink_options={"path": "x"})) == {"path": "x"}


def test_the_names_that_stand_for_sparks_classes_are_theirs() -> None:
    from pyspark.sql.classic.dataframe import DataFrame as SparkFrame
    from pyspark.sql.streaming import DataStreamWriter
    from pyspark.sql.streaming import StreamingQuery as SparkQuery

    names = [kind.__name__ for kind in (SparkFrame, DataStreamWriter, SparkQuery)]
    assert names == ["DataFrame", "DataStreamWriter", "StreamingQuery"]


def pipeline(place: Any, topic: str, folder: Path, **change: Any) -> Pipeline:
    return Pipeline(
        **{
            "source": {**place.source, "topic": topic, "maxOffsetsPerTrigger": "8"},
            "name": place.name,
            "checkpoint": str(folder / "checkpoint"),
            **change,
        }
    )


def test_a_pipeline_may_return_a_frame_a_writer_or_a_query(spark, place, tmp_path) -> None:
    topic, out = place.topic(), str(tmp_path / "out")
    place.send(topic, range(20))
    told: list[BatchProgress] = []

    def frame(stream: Any) -> Any:
        return stream.selectExpr("cast(cast(body as string) as int) as n").where("n % 2 = 0")

    options = pipeline(place, topic, tmp_path, sink="parquet", sink_options={"path": out})
    totals = run_pipeline(spark, frame, options, tell=told.append)
    assert (totals.rows, totals.backlog) == (20, 0)
    assert [(each.rows, each.backlog) for each in told] == [(8, 12), (8, 4), (4, 0)]
    assert Counter(row.n for row in spark.read.parquet(out).collect()) == Counter(range(0, 20, 2))

    place.send(topic, range(20, 23))
    totals = run_pipeline(
        spark, lambda stream: frame(stream).writeStream.format("parquet").option("path", out), options
    )
    assert totals.rows == 3, "it did not go on where it was"
    assert Counter(row.n for row in spark.read.parquet(out).collect()) == Counter(range(0, 23, 2))

    place.send(topic, range(23, 25))
    seen: list[int] = []

    def of(batch: Any) -> list[int]:
        return [row.n for row in batch.collect()]

    def started(stream: Any) -> Any:
        writer = frame(stream).writeStream.foreachBatch(
            lambda batch, _: seen.extend(r.n for r in batch.collect())
        )
        own = str(tmp_path / "own")
        return writer.option("checkpointLocation", own).trigger(availableNow=True).start()

    run_pipeline(spark, started, options)
    assert Counter(seen) == Counter(range(0, 25, 2))


def test_a_pipeline_that_goes_on_stops_when_it_is_asked(spark, place, tmp_path) -> None:
    topic, out = place.topic(), str(tmp_path / "out")
    place.send(topic, range(6))
    stop = StopRequest()
    options = pipeline(place, topic, tmp_path, sink="parquet", sink_options={"path": out}, every_seconds=0.1)
    totals = run_pipeline(
        spark, lambda stream: stream.select("body"), options, tell=lambda progress: stop.ask(), stop=stop
    )
    assert totals.stopped
    assert totals.rows == 6
    assert Counter(int(row.body) for row in spark.read.parquet(out).collect()) == Counter(range(6))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore:Cannot infer the eval type:UserWarning")
def test_what_is_wrong_with_a_pipeline_is_one_line(spark, place, tmp_path) -> None:
    topic = place.topic()
    place.send(topic, range(2))

    def fails(function: Any, **change: Any) -> str:
        with pytest.raises((FixError, GiveUpError)) as problem:
            run_pipeline(spark, function, pipeline(place, topic, tmp_path, **change))
        assert "\n" not in str(problem.value)
        return str(problem.value)

    def broken(value: str) -> int:
        return 1 // 0

    def in_a_task(stream: Any) -> Any:
        from pyspark.sql import functions as f

        return stream.select(f.udf(broken, "int")("topic"))

    assert "`colour` cannot be resolved" in fails(lambda stream: stream.where("colour = 1"))
    assert "Invalid streaming output mode: append" in fails(lambda stream: stream.groupBy("tags").count())
    assert "Failed to find the data source: konsole" in fails(lambda stream: stream, sink="konsole")
    assert "ZeroDivisionError: integer division or modulo by zero (test_pipeline.py" in fails(
        in_a_task, sink="noop"
    )
    assert "is no stream" in fails(lambda stream: spark.range(3))
