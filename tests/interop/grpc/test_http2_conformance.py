"""h2spec, which tries what RFC 7540 asks of servers of HTTP/2, at the door's transport."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport import heads
from mqframe_grpc.transport.call import Method
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.server import GrpcServer

from interop.conftest import need
from mqframe.net.clock import SystemClock

H2SPEC: Final = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"
SECONDS_MAX: Final = 300

PRIORITIES = "priorities, which RFC 9113 has given up, mean nothing"
RESET = "what comes behind a reset may have been under way, and is passed over"
AT_ONCE = "calls are answered and forgotten before the frame in question comes"
NO_CALL = "fields of requests are read as far as they matter to gRPC"
DIFFERENT: Final = {
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream": "the answer has no data",
    "Sends a PRIORITY frame on half-closed (remote) stream": "the answer has no data",
    "closed: Sends a DATA frame after sending RST_STREAM frame": RESET,
    "closed: Sends a HEADERS frame after sending RST_STREAM frame": RESET,
    "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded": AT_ONCE,
    "Sends HEADERS frame that depend on itself": PRIORITIES,
    "Sends PRIORITY frame that depend on itself": PRIORITIES,
    "Sends a PRIORITY frame with 0x0 stream identifier": PRIORITIES,
    "Sends a PRIORITY frame with a length other than 5 octets": PRIORITIES,
    "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream": (
        AT_ONCE
    ),
    "Sends a HEADERS frame that contains the header field name in uppercase letters": NO_CALL,
    "Sends a HEADERS frame that contains a pseudo-header field that appears in a header block after a"
    " regular header field": NO_CALL,
    "Sends a HEADERS frame that contains the connection-specific header field": NO_CALL,
    'Sends a HEADERS frame that contains the TE header field with any value other than "trailers"': NO_CALL,
    'Sends a HEADERS frame with empty ":path" pseudo-header field': NO_CALL,
    'Sends a HEADERS frame that omits ":method" pseudo-header field': NO_CALL,
    'Sends a HEADERS frame that omits ":scheme" pseudo-header field': NO_CALL,
}
"""What the door does otherwise, and why; all else is as it should be."""


class AnyMethod(Mapping[str, Method]):
    """One method under all paths."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __getitem__(self, path: str) -> Method:
        return self._method

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


async def give_back(call: Any, request: Any) -> Any:
    return request


async def results(folder: Path) -> dict[str, str]:
    """What became of each case: "", or how it failed."""
    server = GrpcServer(AnyMethod(Method(give_back, m.Resource)), SystemClock(), GrpcLimits())
    port = await server.start("127.0.0.1", 0)
    found = folder / "found.xml"
    try:
        process = await asyncio.create_subprocess_exec(
            *("go", "run", H2SPEC, "-h", "127.0.0.1", "-p", str(port), "-o", "2", "-j", str(found)),
            stdout=subprocess.DEVNULL,
        )
        async with asyncio.timeout(SECONDS_MAX):
            await process.wait()
    finally:
        await server.stop()
    cases = ElementTree.parse(found).getroot().iter("testcase")
    return {
        case.attrib["classname"]: "".join(each.text or "" for each in case if each.tag != "skipped")
        for case in cases
    }


@pytest.mark.long
async def test_http2_is_as_it_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("go")
    monkeypatch.setattr(heads, "_is_grpc", lambda content: True)  # its requests are those of browsers
    found = await results(tmp_path)
    assert len(found) > 120
    failed = {name: text for name, text in found.items() if text}
    assert failed.keys() == DIFFERENT.keys(), {name: failed.get(name) for name in failed.keys() ^ DIFFERENT}
