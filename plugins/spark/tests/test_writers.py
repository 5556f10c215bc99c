import pytest
from mqframe_spark import writers
from mqframe_spark.exact.writers import ExactBatchWriter
from mqframe_spark.sink.options import parse_sink_options
from mqframe_spark.sink.writers import BatchWriter, StreamWriter
from pyspark.sql import types as t

from mqframe.core.errors import FixError, SettingError

SCHEMA = t.StructType([t.StructField("body", t.BinaryType())])


@pytest.fixture
def options(mqframe_shared_cluster, tmp_path):
    """Makes options; `exact` asks for exactly once."""
    mqframe_shared_cluster.create_topic("chosen", 1)

    def make(*, exact: bool = False, topic: str = "chosen"):
        given = {"nameserver": mqframe_shared_cluster.nameserver, "topic": topic}
        if exact:
            given |= {"exactlyOnce": "true", "commitPath": str(tmp_path), "queryName": "q"}
        return parse_sink_options(given)

    return make


def test_batches(options) -> None:
    assert type(writers.batch_writer(options(), SCHEMA, overwrite=False)) is BatchWriter
    assert type(writers.batch_writer(options(exact=True), SCHEMA, overwrite=False)) is ExactBatchWriter


def test_streams(options) -> None:
    assert type(writers.stream_writer(options(), SCHEMA)) is StreamWriter


def test_what_cannot_be_written_is_refused_first(options) -> None:
    with pytest.raises(SettingError, match="topics cannot be overwritten"):
        writers.batch_writer(options(), SCHEMA, overwrite=True)
    with pytest.raises(SettingError, match="column body is missing"):
        writers.batch_writer(options(), t.StructType([]), overwrite=False)
    with pytest.raises(SettingError, match="column body is missing"):
        writers.stream_writer(options(), t.StructType([]))


def test_a_topic_that_is_not_there_is_refused(options) -> None:
    with pytest.raises(FixError, match="nobody-has-it"):
        writers.batch_writer(options(topic="nobody-has-it"), SCHEMA, overwrite=False)
