"""Runs the code blocks of README.md, CONTRIBUTING.md, plugins/*/README.md and docs/**/*.md as tests.

The blocks of a file share their names and a temporary working directory. A `python` or `toml` block whose
first line is `# some/file.py` is written to that file. `bash` blocks run under `bash -euo pipefail` with this
interpreter's scripts on the PATH; `mqframe server …` is started for the rest of the file instead, on free
ports. Wherever a block says 127.0.0.1:9876, it gets the address of that server, which is started when it is
first needed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

ROOT = Path(__file__).parent
ADDRESS = "127.0.0.1:9876"
SECONDS_MAX = 120
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")


class OwnSpark:
    """Lets blocks start a Spark of their own, as relative paths mean the folder where its JVM was started.

    A Spark that tests have running is put aside meanwhile.
    """

    def __init__(self) -> None:
        self._aside = [(owner, name, getattr(owner, name)) for owner, name in self._places()]
        for owner, name, _ in self._aside:
            setattr(owner, name, None)

    def close(self) -> None:
        """End what the blocks started; bring back what was put aside."""
        places = self._places()
        if not places:
            return
        from pyspark import SparkContext

        context, gateway = SparkContext._active_spark_context, SparkContext._gateway
        if context is not None:
            context.stop()
        for owner, name in places:
            setattr(owner, name, None)
        for owner, name, before in self._aside:
            setattr(owner, name, before)
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(30)

    def _places(self) -> list[tuple[Any, str]]:
        if "pyspark.sql" not in sys.modules:
            return []
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        of_context = [(SparkContext, name) for name in ("_gateway", "_jvm", "_active_spark_context")]
        return [*of_context, (SparkSession, "_instantiatedSession"), (SparkSession, "_activeSession")]


class Workplace:
    """The temporary directory, the server and the environment of one file's blocks."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="mqframe-docs-")
        self._before = Path.cwd(), list(sys.path), set(sys.modules)
        self._server: subprocess.Popen[str] | None = None
        self.address = ""
        self._spark = OwnSpark()
        os.chdir(self.directory.name)
        sys.path.insert(0, self.directory.name)

    def close(self) -> None:
        self._spark.close()
        if self._server is not None:
            self._server.terminate()
            assert self._server.wait(30) == 0
            assert self._server.stdout is not None
            self._server.stdout.close()
        working_directory, path, modules = self._before
        os.chdir(working_directory)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if origin.startswith(self.directory.name):
                del sys.modules[name]
        self.directory.cleanup()

    def real(self, source: str) -> str:
        """`source` with the address of the running server."""
        if ADDRESS in source:
            self.start_server([])
        return source.replace(ADDRESS, self.address) if self.address else source

    def start_server(self, arguments: list[str]) -> None:
        if self._server is not None:
            return
        command = [sys.executable, "-m", "mqframe", "server", *arguments]
        command += ["--nameserver-port", "0", "--broker-port", "0", "--set", "store.disk_limits=false"]
        if "--data" not in arguments:
            command += ["--data", str(Path(self.directory.name, "server"))]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line.startswith("ready "), line
        self.address = re.findall(r"nameserver=(\S+)", line)[0]

    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        values = {**os.environ, "PATH": path, "PYTHONPATH": self.directory.name, "COLUMNS": "100"}
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
    PythonEvaluator()(example)
    return None


def write_file(example: Example) -> str | None:
    source = str(example.parsed)
    name = FILE_NAME.match(source)
    if name is not None:
        path = Path(name[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.namespace["workplace"].real(source))
    return None


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


_collect = Sybil(
    parsers=[
        SkipParser(),
        CodeBlockParser("python", run_python),
        CodeBlockParser("toml", write_file),
        CodeBlockParser("bash", run_bash),
    ],
    patterns=["*.md"],
    setup=set_up,
    teardown=tear_down,
).pytest()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    if file_path.suffix != ".md" or not file_path.is_relative_to(ROOT):
        return None
    inside = file_path.relative_to(ROOT).parts
    told = inside[0] == "docs" and "_build" not in inside
    told = told or inside in (("README.md",), ("CONTRIBUTING.md",))
    told = told or (inside[0] == "plugins" and inside[2:] == ("README.md",))
    return _collect(file_path, parent) if told else None
