"""What the page on compatibility shows is what tests proved, and every request that is served."""

from __future__ import annotations

import ast
import json
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mqframe_testing import Cluster
from request_kinds import ROCKETMQ_S

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.unserved import UNSERVED
from mqframe.core.wire.frame import Frame, FrameDecoder, encode_frame

ROOT = Path(__file__).parents[2]
RESULTS: dict[str, Any] = json.loads((ROOT / "docs/reference/compatibility.json").read_text("utf-8"))


@pytest.fixture
def compatibility(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return __import__("compatibility")


def marks(decorators: list[ast.expr]) -> set[str]:
    """The features that `@pytest.mark.proves(…)` among `decorators` names."""
    return {
        ast.literal_eval(argument)
        for call in decorators
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.proves"
        for argument in call.args
    }


def proofs(tests: str) -> dict[str, set[str]]:
    """By the id of each test in the source `tests` of a file, what it says that it proves."""
    body = ast.parse(tests).body
    of_all = {
        feature
        for statement in body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
        for feature in marks([statement.value])
    }
    functions = [each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        each.name: marks(each.decorator_list) | of_all for each in functions if each.name.startswith("test_")
    }


@pytest.fixture(scope="module")
def marked() -> dict[str, set[str]]:
    return {
        f"{path.relative_to(ROOT).as_posix()}::{name}": features
        for path in sorted((ROOT / "tests/interop").rglob("test_*.py"))
        for name, features in proofs(path.read_text("utf-8")).items()
    }


def test_what_is_proven_names_tests_that_say_so(marked: dict[str, set[str]]) -> None:
    wrong = [
        (feature, name)
        for feature, by in RESULTS["features"].items()
        for names in by.values()
        for name in names
        if feature not in marked.get(name, ())
    ]
    assert wrong == []


def test_requests_were_seen_in_tests_that_exist(marked: dict[str, set[str]]) -> None:
    names = {name for by in RESULTS["requests"].values() for names in by.values() for name in names}
    assert names
    assert names <= marked.keys()


def test_every_feature_of_a_mark_has_a_line(marked: dict[str, set[str]], compatibility: ModuleType) -> None:
    assert set().union(*marked.values()) == compatibility.FEATURES.keys()
    assert RESULTS["features"].keys() <= compatibility.FEATURES.keys()


def test_what_is_proven_with_clients_of_grpc_is_shown(
    marked: dict[str, set[str]], compatibility: ModuleType
) -> None:
    of_grpc = [features for name, features in marked.items() if name.startswith("tests/interop/grpc/")]
    proven = set().union(*of_grpc)
    assert proven == compatibility.GRPC.keys()
    found = {who for by in RESULTS["features"].values() for who in by if who.startswith("gRPC ")}
    page = compatibility.compatibility_page()
    assert found
    for who in found:
        assert page.count(f"\n|{who.removeprefix('gRPC ')}|") == 1
        assert f"|{who}|" not in page


def test_the_page_has_every_request(compatibility: ModuleType) -> None:
    page = compatibility.compatibility_page()
    for code, kind in ROCKETMQ_S.items():
        assert f"|{code}|{kind.__name__}|" in page
    for reason in UNSERVED.values():
        assert f"|{reason}|" in page


def not_supported(address: str, codes: set[int]) -> set[int]:
    """Those of `codes` that a server answers with code 3."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(b"".join(encode_frame(Frame(code, code)) for code in codes))
        decoder, answers = FrameDecoder(), []
        while len(answers) < len(codes):
            received = connection.recv(65536)
            assert received, "the server closed the connection"
            decoder.receive(received)
            while (answer := decoder.next_frame()) is not None:
                answers.append((answer.opaque, answer.code))
    return {opaque for opaque, code in answers if code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED}


@pytest.mark.parametrize("who", ["broker", "name server"])
def test_servers_serve_what_the_page_says(compatibility: ModuleType, who: str) -> None:
    served = {code for code, servers in compatibility.served().items() if who in servers}
    codes = set(ROCKETMQ_S) | set(UNSERVED)
    with Cluster() as cluster:
        address = cluster.broker.address if who == "broker" else cluster.nameserver
        assert not_supported(address, codes) == codes - served
