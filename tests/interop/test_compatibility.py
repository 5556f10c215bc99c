"""How results of tests are put together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interop.compatibility import GO, NODE, Compatibility, grpc_client, merged, partner, sender
from interop.foreign_programs import NEWEST, OLDER
from interop.grpc.programs import LANGUAGES
from mqframe.core.versions import version_number
from mqframe.core.wire.frame import Frame

ORDER = pytest.mark.proves("order").mark


def item(*fixtures: str, mark: pytest.Mark = ORDER, **params: str) -> Any:
    """A test of these fixtures and parameters."""
    return SimpleNamespace(
        fixturenames=[*fixtures, *params],
        callspec=SimpleNamespace(params=params),
        get_closest_marker=lambda name: mark,
    )


@pytest.mark.parametrize(
    ("test", "who"),
    [
        (item("go", servers="ours"), GO),
        (item("go", servers="apache"), ""),
        (item("node"), NODE),
        (item(language="node"), NODE),
        (item("java", class_path=OLDER), f"Java {OLDER}"),
        (item("newest_java", "newest_class_path"), f"Java {NEWEST}"),
        (item("mqadmin", "newest_class_path"), f"mqadmin {NEWEST}"),
        (item("java", version="5.5.0", class_path="5.5.0"), "Apache 5.5.0"),
        (item("java", servers="apache", class_path=OLDER), f"Apache {NEWEST}"),
        (item("guarded", "newest_class_path"), f"Apache {NEWEST}"),
        (item(servers="ours"), ""),
        (item(mark=pytest.mark.proves("pop", since="5.0.0").mark, version="5.3.3"), "Apache 5.3.3"),
        (item(mark=pytest.mark.proves("pop", since="5.0.0").mark, version="4.9.7"), ""),
        (item("java", mark=pytest.mark.proves("order", by="Apache 4.9.7").mark), "Apache 4.9.7"),
        (item("clients", "programs", language="node", door="our"), grpc_client("node")),
        (item("clients", "programs", language="java", door="proxy"), grpc_client("java")),
        (item("clients", "programs", language="java", door="apache"), ""),
    ],
)
def test_fixtures_tell_with_whom(test: Any, who: str) -> None:
    assert partner(test) == who


@pytest.mark.parametrize("language", LANGUAGES)
def test_official_grpc_clients_have_names_and_versions(language: str) -> None:
    assert re.fullmatch(rf"(?i)gRPC {language} \d+\.\d+\.\d+", grpc_client(language))


def test_frames_tell_their_sender() -> None:
    assert sender(Frame(10, language="JAVA", version=version_number("4.9.7"))) == "Java 4.9.7"
    assert sender(Frame(10, language="JAVA", version=121)) == NODE
    assert sender(Frame(10, language="GO", version=317)) == GO
    assert sender(Frame(10)) == ""


def test_tests_that_ran_take_the_place_of_what_they_had_proven() -> None:
    kept = {"order": {GO: ["a", "b"], NODE: ["a"]}, "pop": {GO: ["a"]}}
    assert merged(kept, {"a"}, {("pop", NODE, "a")}) == {"order": {GO: ["b"]}, "pop": {NODE: ["a"]}}


def test_a_test_that_failed_with_one_of_its_parameters_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    for endings in ([True, False], [True, True]):
        results = Compatibility(path)
        for passed in endings:
            run(results, item("go", servers="ours"), passed)
        results.pytest_sessionfinish()
        proven = {"order": {GO: ["tests/interop/test_x.py::test_y"]}} if all(endings) else {}
        assert json.loads(path.read_text())["features"] == proven


def run(results: Compatibility, test: Any, passed: bool) -> None:
    """Have `results` see a test that ends this way, as pytest would."""
    test.nodeid, test.stash = "tests/interop/test_x.py::test_y[1]", pytest.Stash()
    whole = results.pytest_runtest_protocol(test)
    next(whole)
    for outcome in (True, passed, True):
        phase = results.pytest_runtest_makereport(test)
        next(phase)
        with pytest.raises(StopIteration):
            phase.send(SimpleNamespace(passed=outcome))  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        whole.send(None)
