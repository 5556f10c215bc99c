"""A session on this machine: the one that all tests share was made so."""

import os
import sys

from mqframe_spark import local_session, session


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
