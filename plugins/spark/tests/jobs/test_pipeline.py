"""What a user's function may return, without Spark; with it see `test_jobs_in_spark.py`."""

from typing import Any

import pytest
from mqframe_spark.jobs.pipeline import Pipeline, run_pipeline, sink_options

from mqframe.core.errors import FixError, SettingError

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
