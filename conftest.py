"""Runs the code blocks of README.md, CONTRIBUTING.md, docs/**/*.md and distributions' README.md as tests.

The blocks of a file share a working directory, empty at first, and a server; each `python` block has names of
its own alone. A `python` or `toml` block whose first line is `# some/file.py` is written to that file. `bash`
blocks run under `bash -euo pipefail` with this interpreter's scripts on the PATH; `mqframe server …` is
started for the rest of the file instead, on free ports. Wherever a block says 127.0.0.1:9876, it gets the
address of that server, which is started when it is first needed; so it is with 127.0.0.1:5557, its metrics.

With `--twice`, as in long runs, the `python` blocks of the file then run once more, in order, with all that
the first run left: topics with messages, groups with progress, files. So readers can paste a page again.
`<!-- once: "why" -->` right before a block leaves it out of the second run, `<!-- once: page "why" -->` does
so with all blocks of a page.

With pytest-xdist (`-n 2`) a file of tests goes to one process as a whole, those that share something costly
(Apache's servers) go to one process together, and what takes longest begins first. Each process that runs
tests with a Spark has its own one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.evaluators.skip import Skipper
from sybil.integration.pytest import SybilFile, SybilItem
from sybil.parsers.markdown import CodeBlockParser, SkipParser

ROOT = Path(__file__).parent
# What tests of several distributions share is imported by name: `recorded`, `strategies`.
sys.path.insert(0, str(ROOT / "tests"))

import shared_machine  # noqa: E402, F401
from async_tests import SECONDS_MAX, pytest_pyfunc_call  # noqa: E402
from simulated_places import place, simulation, watched_thread_pools  # noqa: E402

__all__ = ["place", "pytest_pyfunc_call", "simulation", "watched_thread_pools"]

# Each Spark of the tests lives for seconds: what its JVM compiles well would seldom be used.
os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
java_options = "-XX:TieredStopAtLevel=1"
FAST_SPARK = ROOT / ".tools/spark"  # made by tools/fast_spark.py
if all((FAST_SPARK / name).exists() for name in ("jars", "classes.jsa")):
    os.environ.setdefault("SPARK_HOME", str(FAST_SPARK))
    java_options += f" -XX:SharedArchiveFile={FAST_SPARK}/classes.jsa -Xlog:cds=off"
os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options)

ADDRESS = "127.0.0.1:9876"
METRICS_PORT = "5557"
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")
ONCE = re.compile(r'<!-- once: "[^"]+" -->\s*\Z')
PAGE_ONCE = re.compile(r'^<!-- once: page "[^"]+" -->$', re.MULTILINE)
SHARED = {
    "spark": ("plugins/spark/tests/", "spark"),
    "apache": ("tests/interop/", "apache|servers|topic"),
}
"""What takes long to start and several files share: their folder, and the fixtures that their tests take."""
SPARK_PAGE = re.compile(r"^spark = local_session\(", re.MULTILINE)
LONGEST_FIRST = (
    "spark",
    "apache",
    "tests/interop/test_spark",
    "packages/cli/tests/quickstart",
    "plugins/kombu/tests/test_workers",
    "tests/interop",
    "plugins/spark",
    "docs",
    "tests/scenarios",
    "tests/test_packaging",
)
"""Units, by how their names begin; all others take seconds."""


class OwnSpark:
    """Lets blocks start a Spark of their own, as relative paths mean the folder where its JVM was started.

    A Spark that tests have running is put aside meanwhile. The JVM stays for the next file.
    """

    _jvm: ClassVar[list[tuple[Any, str, Any]]] = []
    """What reaches it: an owner, the name of the attribute there, its value."""

    def __init__(self) -> None:
        self._aside = [(owner, name, getattr(owner, name)) for owner, name in self._places()]
        for owner, name, _ in self._aside:
            setattr(owner, name, None)
        for owner, name, running in self._jvm:
            setattr(owner, name, running)

    def close(self) -> None:
        """End the session that the blocks started; bring back what was put aside."""
        places = self._places()
        if not places:
            return
        from pyspark import SparkContext

        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        self._jvm[:] = [(SparkContext, name, getattr(SparkContext, name)) for name in ("_gateway", "_jvm")]
        for owner, name in places:
            setattr(owner, name, None)
        for owner, name, before in self._aside:
            setattr(owner, name, before)

    def _places(self) -> list[tuple[Any, str]]:
        if "pyspark.sql" not in sys.modules:
            return []
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        of_context = [(SparkContext, name) for name in ("_gateway", "_jvm", "_active_spark_context")]
        return [*of_context, (SparkSession, "_instantiatedSession"), (SparkSession, "_activeSession")]


@cache
def blocks_folder() -> Path:
    """Where blocks run: one for all files of this process, as a JVM cannot change its own."""
    folder = tempfile.mkdtemp(prefix="mqframe-docs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class Workplace:
    """The working directory, the server and the environment of one file's blocks."""

    def __init__(self) -> None:
        self.directory = blocks_folder()
        self._before = Path.cwd(), list(sys.path), set(sys.modules)
        self._server: subprocess.Popen[str] | None = None
        self.address = self.metrics = ""
        self._spark = OwnSpark()
        os.chdir(self.directory)
        sys.path.insert(0, str(self.directory))

    def close(self) -> None:
        self._spark.close()
        if "kombu.pools" in sys.modules:
            sys.modules["kombu.pools"].reset()  # Celery keeps connections until its process ends
        if self._server is not None:
            self._server.terminate()
            assert self._server.wait(120) == 0
            assert self._server.stdout is not None
            self._server.stdout.close()
        working_directory, path, modules = self._before
        os.chdir(working_directory)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if origin.startswith(str(self.directory)):
                del sys.modules[name]
        for entry in self.directory.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def real(self, source: str) -> str:
        """`source` with the address of the running server."""
        if ADDRESS in source:
            self.start_server([])
        source = source.replace(ADDRESS, self.address) if self.address else source
        return source.replace(f"127.0.0.1:{METRICS_PORT}", self.metrics) if self.metrics else source

    def start_server(self, arguments: list[str]) -> None:
        if self._server is not None:
            return
        from mqframe_testing.ports import lasting_port

        arguments = ["0" if each == METRICS_PORT else each for each in arguments]
        command = [sys.executable, "-m", "mqframe", "server", *arguments]
        # A group's brokers come back where they were, and have the next port as well.
        port = lasting_port(-2, 1, 8, 10, 11) if "--replicas" in arguments else 0
        command += ["--nameserver-port", "0", "--broker-port", str(port), "--set", "store.disk_limits=false"]
        if "--data" not in arguments:
            command += ["--data", str(self.directory / "server")]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line.startswith("ready "), line
        self.address = re.findall(r"nameserver=(\S+)", line)[0]
        self.metrics = "".join(re.findall(r"metrics=(\S+)", line))

    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        values = {**os.environ, "PATH": path, "PYTHONPATH": str(self.directory), "COLUMNS": "100"}
        if self.address:
            values["NAMESRV_ADDR"] = self.address
        return values


def run_python(example: Example) -> str | None:
    source = str(example.parsed)
    if FILE_NAME.match(source):
        return write_file(example)
    place: Workplace = example.namespace["workplace"]
    lexeme = example.parsed
    example.parsed = type(lexeme)(place.real(source), lexeme.offset, lexeme.line_offset)
    example.namespace = {"__name__": "__main__"}
    PythonEvaluator()(example)
    return None


def write_file(example: Example) -> str | None:
    source = str(example.parsed)
    name = FILE_NAME.match(source)
    if name is not None:
        path = Path(name[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.namespace["workplace"].real(source))
        importlib.invalidate_caches()
        for module in [name for name, value in sys.modules.items() if is_from(value, path.resolve())]:
            del sys.modules[module]
    return None


def is_from(module: Any, path: Path) -> bool:
    """Whether `module` was loaded from `path`: what is written anew is imported anew."""
    return getattr(module, "__file__", None) == str(path)


def run_bash(example: Example) -> str | None:
    place: Workplace = example.namespace["workplace"]
    source = str(example.parsed)
    words = shlex.split(source, comments=True)
    if words[:2] == ["mqframe", "server"]:
        place.start_server(words[2:])
        return None
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", place.real(source)],
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return None if result.returncode == 0 else f"exit code {result.returncode}:\n{result.stdout}"


def set_up(namespace: dict[str, Any]) -> None:
    namespace["workplace"] = Workplace()


def tear_down(namespace: dict[str, Any]) -> None:
    namespace["workplace"].close()


_pages = Sybil(
    parsers=[
        SkipParser(),
        CodeBlockParser("python", run_python),
        CodeBlockParser("toml", write_file),
        CodeBlockParser("bash", run_bash),
    ],
    patterns=["*.md"],
    setup=set_up,
    teardown=tear_down,
)


_again = Sybil(parsers=_pages.parsers, name="again")


class Page(SybilFile):
    """All blocks of a file, then those that run again."""

    def collect(self) -> Iterator[SybilItem]:
        yield from super().collect()
        if not self.config.getoption("twice"):
            return
        for document in self.documents:
            for example in second_run(document):
                yield SybilItem.from_parent(self, sybil=_again, example=example)


def second_run(document: Document) -> Iterator[Example]:
    """The `python` blocks of a page that run again, with the marks that would skip them."""
    if PAGE_ONCE.search(document.text):
        return
    skips: list[Example] = []
    for example in document.examples():
        if isinstance(example.region.evaluator, Skipper):
            skips.append(example)
        elif example.region.evaluator is run_python:
            yield from skips
            if not ONCE.search(document.text, 0, example.start):
                yield example
            skips = []
        else:
            skips = [skip for skip in skips if skip.parsed[0] != "next"]
    yield from skips


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    if file_path.suffix != ".md" or not file_path.is_relative_to(ROOT):
        return None
    inside = file_path.relative_to(ROOT).parts
    told = inside[0] == "docs" and "_build" not in inside
    told = told or inside in (("README.md",), ("CONTRIBUTING.md",))
    told = told or (inside[0] in ("packages", "plugins") and inside[2:] == ("README.md",))
    return Page.from_parent(parent, path=file_path, sybils=[_pages]) if told else None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One local Spark for all tests of a process: starting it takes seconds, and only one can run there."""
    from mqframe_spark import local_session

    session = local_session(
        "tests",
        master="local[2]",
        log_level="OFF",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield session
    session.stop()


@cache
def unit(file: str) -> str:
    """What runs with the tests of `file`: those that share servers of Apache's, or a Spark and a folder.

    Pages that start a Spark share its JVM, which is another one than that of tests (`OwnSpark`). Any other
    file is alone. All tests with a Spark in one process would take longer than all else in the others.

    `file`: the first part of a test's identity, from `ROOT` on.
    """
    for name, (folder, fixtures) in SHARED.items():
        if file.startswith(folder) and file.endswith(".py"):
            takes = rf"^\s*(?:async )?def test_\w+\([^)]*\b(?:{fixtures})\b"
            if re.search(takes, (ROOT / file).read_text("utf-8"), re.MULTILINE):
                return f"{name} {Path(file).parent.name}"
    if file.endswith(".md") and SPARK_PAGE.search((ROOT / file).read_text("utf-8")):
        return "spark pages"
    return file


def rank(item: pytest.Item) -> int:
    """When a test's turn is: units that take long come first, so that none is left alone at the end."""
    name = unit(item.nodeid.partition("::")[0])
    return next((n for n, start in enumerate(LONGEST_FIRST) if name.startswith(start)), len(LONGEST_FIRST))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How pages are run, and which cases of series."""
    pages = parser.getgroup("pages", "pages of the documentation")
    pages.addoption("--twice", action="store_true", help="run the blocks of pages again, where they were run")
    group = parser.getgroup("mqframe", "long series (-m long)")
    group.addoption(
        "--seed", type=int, default=0, help="seed of the first case; the same seeds, the same cases"
    )
    group.addoption("--cases", type=int, help="how many cases of each series")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its seeds: `@pytest.mark.seeds(2, more=98)`."""
    for mark in metafunc.definition.iter_markers("seeds"):
        always = range(mark.args[0])
        first = metafunc.config.getoption("seed") + len(always)
        more = range(first, first + mark.kwargs["more"])
        seeds = [*always, *(pytest.param(seed, marks=pytest.mark.long) for seed in more)]
        metafunc.parametrize("seed", seeds)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long series unless `-m` names them; order what several processes share."""
    if "long" not in config.getoption("markexpr"):
        series = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=series)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    if "workerinput" in vars(config):
        items.sort(key=rank)
        # What was collected stays: no collection has to look at these millions of objects again.
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        """Gives out whole units, in the order of the tests."""

        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid.partition("::")[0])

    config.option.loadscopereorder = False
    return Units(config, log)
