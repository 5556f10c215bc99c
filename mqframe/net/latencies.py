"""How long requests take from their bytes to their answers: histograms by request, answer and way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from typing import Final

from mqframe.core.codes import FLAG_ONEWAY, ResponseCode
from mqframe.core.measuring.family import Family, MetricKind
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.requests import REQUESTS
from mqframe.core.requests.serving import Call
from mqframe.net.frame_path import AlikeRequests

BOUNDS_MS: Final = (1, 3, 5, 7, 10, 100, 1000, 2000, 3000)
_UNKNOWN: Final = -1
_SPELT_OTHERWISE: Final = {
    200: "update_and_create_subscriptiongroup",
    201: "get_all_subscriptiongroup_config",
    206: "get_all_topic_list_from_nameserver",
    207: "delete_subscriptiongroup",
    225: "update_and_create_subscriptiongroup_list",
    306: "clean_expired_consumequeue",
    329: "delete_expired_commitlog",
    352: "get_subscriptiongroup_config",
    200053: "change_message_invisibletime",
}
_CODE_NAMES: Final = {int(code): code.name.lower() for code in ResponseCode}
_LABELS: Final = ("protocol_type", "request_code", "response_code", "is_long_polling", "result")


class Latencies:
    """Counts the answers of one server, from when it was made on.

    `known`: codes that requests may have; all others count as one, for anybody may send them.
    """

    __slots__ = ("_found", "_known")

    def __init__(self, known: Container[int]) -> None:
        self._known = known
        self._found: dict[tuple[int, int, bool, int], Histogram] = {}

    def add(self, call: Call, response_code: int, now: float) -> None:
        """`call` is answered with `response_code`; `now`: monotonic seconds."""
        # Every answer passes here.
        frame = call.frame
        found = self._found.get((frame.code, response_code, call.waited, frame.flag & FLAG_ONEWAY))
        if found is None:
            found = self._histogram(frame.code, response_code, call.waited, frame.flag & FLAG_ONEWAY)
        took_ms = (now - call.received) * 1000
        found.counts[bisect_left(BOUNDS_MS, took_ms)] += 1
        found.sum += took_ms

    def add_alike(self, requests: AlikeRequests, response_code: int, took_ms: float) -> None:
        """All of `requests` were answered with `response_code` after `took_ms`."""
        found = self._histogram(requests.code, response_code, False, requests.flag & FLAG_ONEWAY)
        found.counts[bisect_left(BOUNDS_MS, took_ms)] += requests.number
        found.sum += took_ms * requests.number

    def _histogram(self, code: int, response_code: int, waited: bool, oneway: int) -> Histogram:
        key = code if code in self._known else _UNKNOWN, response_code, waited, oneway
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Histogram(BOUNDS_MS)
        return found

    def family(self) -> Family:
        """All of them, with the names that RocketMQ gives codes (RemotingMetricsManager.java)."""
        family = Family(
            "rocketmq_rpc_latency_milliseconds",
            MetricKind.HISTOGRAM,
            "From the bytes of a request to its answer; answers that wait for messages are told apart.",
            _LABELS,
        )
        for (code, response_code, waited, oneway), histogram in self._found.items():
            family.add(
                histogram,
                "remoting",
                request_label(code),
                _CODE_NAMES.get(response_code, str(response_code)),
                "true" if waited else "false",
                "oneway" if oneway else "success",
            )
        return family


def request_label(code: int) -> str:
    """The name of a request in metrics, as RequestCode.java has it: `send_message_v2`."""
    kind = REQUESTS.get(code)
    if code in _SPELT_OTHERWISE:
        return _SPELT_OTHERWISE[code]
    if kind is None:
        return "unknown" if code == _UNKNOWN else str(code)
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in kind.__name__)
    return words.lower().removeprefix("_")
