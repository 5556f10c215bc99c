"""What a worker process takes for a consumer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mqframe_cli.worker.process import MODE_VARIABLE, load, load_in_mode

from mqframe import FixError, PushConsumer

APP = """
from mqframe import PushConsumer

consumer = PushConsumer("g", nameserver="127.0.0.1:9")

class Deep:
    consumer = consumer

def make():
    return consumer

def configured():
    return PushConsumer.from_config(group="g", nameserver="127.0.0.1:9")

def wrong():
    return 7

number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "worker_app.py").write_text(APP)
    (tmp_path / "worker_broken.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("worker_app", "worker_broken"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("target", ["consumer", "Deep.consumer", "make"])
def test_a_consumer_or_a_function_that_makes_one(target: str) -> None:
    assert isinstance(load(f"worker_app:{target}"), PushConsumer)


@pytest.mark.parametrize("target", ["number", "wrong", "Deep"])
def test_anything_else_is_refused_by_its_type(target: str) -> None:
    with pytest.raises(FixError, match="no consumer with run"):
        load(f"worker_app:{target}")


def test_what_an_application_lacks_is_its_own_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        load("worker_broken:consumer")


def test_a_mode_counts_for_consumers_of_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, "pull")
    for mode in ("pop", "keyed"):
        assert load_in_mode("worker_app:configured", mode).mode == mode
    with pytest.raises(FixError, match=r"has the mode 'pull': --mode pop counts .* made by from_config"):
        load_in_mode("worker_app:consumer", "pop")
    with pytest.raises(FixError, match="choose one of pull, keyed, pop"):
        load_in_mode("worker_app:configured", "pope")
