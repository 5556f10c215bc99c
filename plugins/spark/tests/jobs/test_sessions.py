"""Which Spark is meant."""

import socket

import pytest
from mqframe_spark.jobs.sessions import (
    SessionOptions,
    check_master,
    check_session,
    is_connect,
    is_local,
)

from mqframe.core.errors import RetryError, SettingError


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "local[2,3]", "local[*, 4]"])
def test_masters_on_this_machine(master) -> None:
    assert is_local(master)
    check_session(SessionOptions(master=master))


@pytest.mark.parametrize(
    "master", ["spark://h:7077", "yarn", "k8s://https://h:6443", "sc://h:15002", "local-cluster[1,1,1024]"]
)
def test_masters_elsewhere(master) -> None:
    assert not is_local(master)
    assert is_connect(master) == master.startswith("sc://")
    check_session(SessionOptions(master=master))


@pytest.mark.parametrize(
    "master", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "sc://127.0.0.1:1/;user_id=x"]
)
def test_a_master_that_does_not_answer_is_told_at_once(master) -> None:
    with pytest.raises(RetryError, match=rf"^--master {master}: nobody answers there: .*refused"):
        check_master(master)


def test_one_master_of_several_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        check_master(f"sc://127.0.0.1:{port}/;use_ssl=true")
    for master in ("local[2]", "yarn", "k8s://https://127.0.0.1:1"):
        check_master(master)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (SessionOptions(master="h:7077"), "--master h:7077: write local"),
        (SessionOptions(master="local[x]"), r"--master local\[x\]"),
        (SessionOptions(log_level="LOUD"), "--log-level LOUD: choose one of"),
        (SessionOptions(py_files=("/no/such.zip",)), "--py-file /no/such.zip: there is no such file"),
    ],
)
def test_what_makes_no_session_is_refused(options, said) -> None:
    with pytest.raises(SettingError, match=said):
        check_session(options)
