"""Where progress is kept."""

from pathlib import Path

import pytest
from mqframe_spark.jobs.checkpoints import checkpoint_for, offsets_in

from mqframe.core.errors import SettingError

FACTS = {"topic": "orders", "nameserver": "n:1"}


def place(name="job", facts=FACTS, given="", master="local[*]", environment=None) -> str:
    return checkpoint_for(given, name, facts, master, {"XDG_STATE_HOME": "/state", **(environment or {})})


def test_the_same_job_has_the_same_folder_and_another_job_another() -> None:
    first = place()
    assert Path(first).parent == Path("/state/mqframe/spark")
    assert first == place(facts=dict(reversed(FACTS.items())))
    others = {first, place(name="other"), place(facts={**FACTS, "topic": "other"})}
    assert len(others) == 3


def test_names_of_functions_make_names_of_folders() -> None:
    assert Path(place(name="a/b c%../x")).name.startswith("a-b-c-..-x-")
    assert Path(place(name="../..")).parent == Path("/state/mqframe/spark")


def test_without_a_state_folder_it_is_in_the_home(monkeypatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert checkpoint_for("", "job", {}, "local", {}).startswith("/home/me/.local/state/mqframe/spark/job-")


def test_a_folder_that_was_named_is_made_absolute(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert place(given="cp") == str(tmp_path / "cp")
    assert place(given="s3a://bucket/cp", master="yarn") == "s3a://bucket/cp"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "sc://host:15002"])
def test_with_other_machines_it_must_be_named(master) -> None:
    with pytest.raises(SettingError, match=f"option --checkpoint is missing: with master {master}"):
        place(master=master)


def test_the_offsets_of_a_checkpoint_are_the_third_line() -> None:
    text = 'v1\n{"batchWatermarkMs":0}\n{"orders": {"broker-a/0": 8}}\n'
    assert offsets_in(text) == {"orders": {"broker-a/0": 8}}
    assert offsets_in("v1\n{}\n-") == {}
    assert offsets_in("v1\n{}") == {}
