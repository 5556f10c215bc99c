"""What tests of this folder prove about clients and servers of others, written down from their results.

A test says what it proves by `@pytest.mark.proves("order")`. With whom, its fixtures and parameters tell;
where they cannot, `by="…"` does. `since="5.0.0"` says that a test shows of older servers what they lack.

    pytest tests/interop/test_ordered.py --write-compatibility docs/reference/compatibility.json

brings the tests that ran up to date in the file, and leaves what it says of others: it may be made in pieces.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest

from interop.foreign_programs import HERE, NEWEST
from mqframe.core.codes import ResponseCode
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.versions import version_number, version_text
from mqframe.core.wire.frame import Frame
from mqframe.net.connection import Connection

ROOT = HERE.parents[1]
GO = next(
    f"Go {line.split()[-1].lstrip('v')}"
    for line in (HERE / "go/go.mod").read_text().splitlines()
    if "rocketmq-client-go" in line
)
NODE = f"Node {json.loads((HERE / 'node/package.json').read_text())['dependencies']['ali-ons']}"

GRPC_PROGRAMS = "programs"
"""The fixture by which tests get the programs of official gRPC clients."""
_GRPC_NAMES = {"go": "Go", "java": "Java", "node": "Node", "python": "Python", "rust": "Rust"}
_GRPC_VERSIONS = {
    "go": ("go/go.mod", r"rocketmq-clients/golang/v5 v(\S+)"),
    "java": ("java/client/pom.xml", r"rocketmq-client-java</artifactId>\s*<version>(.+?)<"),
    "node": ("node/package.json", r'"rocketmq-client-nodejs": "(.+?)"'),
    "rust": ("rust/Cargo.toml", r'rocketmq = "=(.+?)"'),
}
"""Where the versions of official gRPC clients stand, below grpc; that for Python is what is installed."""

Found = dict[str, dict[str, list[str]]]
"""By feature or request code and by partner, the names of tests."""


def grpc_client(language: str) -> str:
    """The official gRPC client of a language, with its version."""
    if language not in _GRPC_VERSIONS:
        return f"gRPC {_GRPC_NAMES[language]} {metadata.version('rocketmq-python-client')}"
    file, pattern = _GRPC_VERSIONS[language]
    [version] = re.findall(pattern, (HERE / "grpc" / file).read_text("utf-8"))
    return f"gRPC {_GRPC_NAMES[language]} {version}"


def partner(item: pytest.Item) -> str:
    """With whom a test proves something; empty where it tries nobody else, or not our side."""
    mark = item.get_closest_marker("proves")
    assert mark is not None
    if "by" in mark.kwargs:
        return str(mark.kwargs["by"])
    function = cast("pytest.Function", item)
    params: dict[str, Any] = function.callspec.params if hasattr(function, "callspec") else {}
    fixtures = set(function.fixturenames) | {params.get("language"), params.get("asking")}
    if GRPC_PROGRAMS in fixtures:
        # At Apache's proxy they show what ours has to do.
        return "" if params.get("door") == "apache" else grpc_client(params["language"])
    if version := params.get("version"):
        has = version_number(version) >= version_number(mark.kwargs.get("since", "4.9.0"))
        return f"Apache {version}" if has else ""
    foreign = next((name for fixture, name in (("go", GO), ("node", NODE)) if fixture in fixtures), "")
    if "apache" in (params.get("servers"), params.get("asking")) or fixtures & {"apache", "guarded"}:
        return "" if foreign else f"Apache {NEWEST}"
    if "mqadmin" in fixtures:
        return f"mqadmin {NEWEST}"
    if "class_path" in params:
        return f"Java {params['class_path']}"
    return f"Java {NEWEST}" if "newest_class_path" in fixtures else foreign


def sender(frame: Frame) -> str:
    """Who sent a frame; empty when it was mqframe, or does not tell. Node passes for a Java of long ago."""
    if frame.language == "JAVA":
        return NODE if frame.version < version_number("4.0.0") else f"Java {version_text(frame.version)}"
    return GO if frame.language == "GO" else ""


class Compatibility:
    """A pytest plugin that keeps what passed, for the file at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ran: set[str] = set()
        self._failed: set[tuple[str, str]] = set()  # partners and tests
        self._features: set[tuple[str, str, str]] = set()
        self._requests: set[tuple[str, str, str]] = set()
        self._seen: set[tuple[str, str]] = set()
        self._patch = pytest.MonkeyPatch()

    def pytest_sessionstart(self) -> None:
        """Note every answer that servers of this process give, from now on."""
        plain = Connection.answer

        def answer(connection: Connection[Any], call: Call, reply: Reply) -> bytes:
            if reply.code == ResponseCode.SUCCESS and (who := sender(call.frame)):
                self._seen.add((str(call.frame.code), who))
            return plain(connection, call, reply)

        self._patch.setattr(Connection, "answer", answer)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Keep what a test proved once it has ended."""
        self._seen.clear()
        result = yield
        name, who = item.nodeid.partition("[")[0], ""
        self._ran.add(name)
        if mark := item.get_closest_marker("proves"):
            who = partner(item)
            if who:
                self._features |= {(feature, who, name) for feature in mark.args}
        if item.stash.get(PASSED, False):
            self._requests |= {(*seen, name) for seen in self._seen}
        else:
            self._failed.add((who, name))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Note how each phase of a test ended."""
        report = yield
        item.stash[PASSED] = report.passed and item.stash.get(PASSED, True)
        return report

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._patch.undo()
        kept = json.loads(self._path.read_text()) if self._path.exists() else {}
        proven = {each for each in self._features if each[1:] not in self._failed}
        features = merged(kept.get("features", {}), self._ran, proven)
        requests = merged(kept.get("requests", {}), self._ran, self._requests)
        found = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "features": features,
            # One test each is enough: hundreds of them send a heartbeat.
            "requests": {code: {who: by[who][:1] for who in by} for code, by in requests.items()},
        }
        self._path.write_text(json.dumps(found, indent=1) + "\n")


PASSED = pytest.StashKey[bool]()


def merged(kept: Found, ran: set[str], proven: set[tuple[str, str, str]]) -> Found:
    """What is `kept` of tests other than those that `ran`, and what these have `proven`.

    `proven`: triples of a feature or request code, a partner and a test.
    """
    others = {
        (key, who, name) for key, by in kept.items() for who in by for name in by[who] if name not in ran
    }
    found: Found = {}
    for key, who, name in sorted(others | proven):
        found.setdefault(key, {}).setdefault(who, []).append(name)
    return found
