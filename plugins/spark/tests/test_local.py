"""A session on this machine: the one that all tests share was made so."""

import os
import sys

from mqframe_spark import local_session, session

from mqframe import Message, Producer

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
USUAL = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


def test_it_stays_on_this_machine_and_in_this_interpreter(spark) -> None:
    conf = dict(spark.sparkContext.getConf().getAll())
    assert (conf["spark.driver.host"], conf["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert (conf["spark.ui.enabled"], spark.sparkContext.uiWebUrl) == ("false", None)
    assert (conf["spark.master"], conf["spark.app.name"]) == ("local[2]", "tests")
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable == spark.sparkContext.pythonExec
    assert os.environ["SPARK_LOCAL_IP"]


def test_settings_that_are_given_win_over_the_defaults(spark) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_session_that_runs_already_is_returned(spark) -> None:
    again = local_session("another", log_level="OFF", **{"spark.sql.shuffle.partitions": "2"})
    assert again is spark
    assert again.sparkContext.appName == "tests"
    assert session is local_session


def test_a_stream_goes_on_where_sessions_of_either_kind_left_it(spark, mqframe_cluster, tmp_path) -> None:
    """What keeps checkpoints here and what keeps them elsewhere read each other's files."""
    mqframe_cluster.create_topic("turns", 1)
    source = {"topic": "turns", "nameserver": mqframe_cluster.nameserver, "startingOffsets": "earliest"}
    rows = spark.readStream.format("mqframe").options(**source).load().selectExpr("string(body) body")
    ours = spark.conf.get(MANAGER)
    assert ours.endswith("FileSystemBasedCheckpointFileManager")
    writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer = writer.trigger(availableNow=True)
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        for number, manager in enumerate((ours, USUAL, ours, USUAL)):
            producer.send(Message("turns", b"%d" % number))
            spark.conf.set(MANAGER, manager)
            try:
                writer.start(str(tmp_path / "rows")).awaitTermination()
            finally:
                spark.conf.set(MANAGER, ours)
    found = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(row.body for row in found) == ["0", "1", "2", "3"]
