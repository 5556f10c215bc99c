"""Real foreign clients: jars through Maven, compiled once, run as child processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from mqframe.testing import Cluster

HERE = Path(__file__).parent
CACHE = Path.home() / ".cache" / "mqframe-interop"
SECONDS_MAX = 60.0

# The one class that moved between the two versions.
MOVED = {
    "4.9.7": (
        "org.apache.rocketmq.remoting.protocol.heartbeat",
        "org.apache.rocketmq.common.protocol.heartbeat",
    )
}


def need(*tools: str) -> None:
    """Skip when a tool is missing; in CI that is a failure."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def build_class_path(version: str) -> str:
    """The jars of one RocketMQ version and the compiled test client, made once and kept."""
    need("java", "javac", "mvn")
    home = CACHE / version
    jars, classes = home / "lib", home / "classes"
    if not (home / "complete").exists():
        command = ["mvn", "-q", "-B", "-f", str(HERE / "java/pom.xml"), f"-Drocketmq.version={version}"]
        subprocess.run(
            [*command, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], check=True, timeout=600
        )
        (home / "complete").touch()
    source = (HERE / "java/Interop.java").read_text()
    source = source.replace(*MOVED.get(version, ("", "")))
    classes.mkdir(exist_ok=True)
    (home / "Interop.java").write_text(source)
    command = ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(classes), str(home / "Interop.java")]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return f"{classes}:{jars}/*"


class JavaClient:
    """A running test client; its lines come as lists of words."""

    def __init__(self, class_path: str, arguments: list[str], home: Path) -> None:
        flags = [
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            f"-Duser.home={home}",
            "-Drocketmq.client.logLevel=ERROR",
        ]
        self.process = subprocess.Popen(
            ["java", *flags, "-cp", class_path, "Interop", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "JAVA_TOOL_OPTIONS": "-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"},
        )
        self._lines: Queue[list[str] | None] = Queue()
        self._errors: list[str] = []
        self._readers = [Thread(target=self._read), Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            # The client's log framework writes to standard output too.
            if line.startswith("fact\t"):
                self._lines.put(line.rstrip("\n").split("\t")[1:])
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr
        self._errors.extend(self.process.stderr)

    def next_line(self, seconds: float = SECONDS_MAX) -> list[str] | None:
        """The next line, `None` at the end; fails the test when none comes in time."""
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            pytest.fail(f"the Java client said nothing for {seconds} s: {''.join(self._errors)[-2000:]}")

    def take(self, word: str, count: int) -> list[list[str]]:
        """The next `count` lines that start with `word`; others are passed over."""
        found: list[list[str]] = []
        while len(found) < count:
            line = self.next_line()
            if line is None:
                pytest.fail(
                    f"the Java client ended after {len(found)} of {count} {word!r}: {''.join(self._errors)[-2000:]}"
                )
            if line[0] == word:
                found.append(line)
        return found

    def waiting(self, word: str) -> list[list[str]]:
        """The lines that are there by now and start with `word`."""
        found = []
        while not self._lines.empty():
            line = self._lines.get()
            if line is None:
                pytest.fail(f"the Java client ended: {''.join(self._errors)[-2000:]}")
            if line[0] == word:
                found.append(line)
        return found

    def finish(self) -> list[list[str]]:
        """Close its input, wait for its end and give the lines that were left."""
        assert self.process.stdin
        self.process.stdin.close()
        lines = []
        while (line := self.next_line()) is not None:
            lines.append(line)
        assert self.process.wait(SECONDS_MAX) == 0, "".join(self._errors)[-2000:]
        return lines

    def end(self) -> None:
        """End it, unless it has ended, and let go of its pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


StartJava = Callable[..., JavaClient]


@pytest.fixture(scope="session", params=["5.3.3", "4.9.7"])
def class_path(request: pytest.FixtureRequest) -> str:
    """Jars and test client of each version in turn."""
    return build_class_path(request.param)


@pytest.fixture
def java(class_path: str, tmp_path: Path) -> Iterator[StartJava]:
    """Starts Java clients of the version under test; ends them with the test."""
    running: list[JavaClient] = []

    def start(*arguments: str) -> JavaClient:
        client = JavaClient(class_path, list(arguments), tmp_path)
        running.append(client)
        return client

    yield start
    for client in running:
        client.end()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A name server and a broker in this process, on the real clock."""
    with Cluster() as running:
        yield running
