"""Workers end in silence where Spark closed their socket, and in nothing else."""

import pytest
from pyspark import daemon
from pyspark_mqframe import daemon as quiet


@pytest.mark.parametrize(
    ("ends", "code"), [(0, 0), (3, 3), (BrokenPipeError(32, "Broken pipe"), 1), (ConnectionResetError(), 1)]
)
def test_a_socket_that_spark_closed_is_no_error(monkeypatch, ends, code) -> None:
    served = []

    def work(sock, authenticated):
        served.append((sock, authenticated))
        if isinstance(ends, int):
            return ends
        raise ends

    monkeypatch.setattr(quiet, "_work", work)
    assert quiet.worker("socket", True) == code
    assert served == [("socket", True)]


def test_what_else_fails_is_told(monkeypatch) -> None:
    def work(sock, authenticated):
        raise OSError("disk full")

    monkeypatch.setattr(quiet, "_work", work)
    with pytest.raises(OSError, match="disk full"):
        quiet.worker("socket", True)


def test_its_workers_serve_spark(monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(daemon, "worker", daemon.worker)
    monkeypatch.setattr(daemon, "manager", lambda: seen.append(daemon.worker))
    quiet.main()
    assert seen == [quiet.worker]


def test_sessions_use_it(spark) -> None:
    assert spark.conf.get("spark.python.daemon.module") == quiet.__name__
