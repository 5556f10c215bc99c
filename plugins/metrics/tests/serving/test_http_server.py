import gzip
import http.client
import logging
import select
import socket
import threading
from http import HTTPStatus

import pytest
from mqframe_metrics.serving.http_server import REQUESTS_MAX, HttpServer, Page

from mqframe.log import ROOT

HUGE = [bytes([number % 251]) * 30_000 for number in range(100)]


@pytest.fixture
def gate():
    return threading.Event()


@pytest.fixture
def server(gate):
    def wait():
        gate.wait(30)
        return Page(HTTPStatus.OK, "text/plain", [b"waited"])

    def fail():
        raise RuntimeError("broken")

    pages = {
        "/short": lambda: Page(HTTPStatus.OK, "text/plain", [b"one ", b"two"]),
        "/long": lambda: Page(HTTPStatus.OK, "text/plain", [b"x" * 10_000]),
        "/huge": lambda: Page(HTTPStatus.OK, "text/plain", HUGE),
        "/wait": wait,
        "/fail": fail,
    }
    found = HttpServer("127.0.0.1", 0, pages)
    found.start()
    yield found
    gate.set()
    found.stop()


def get(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_a_page_is_answered_also_with_a_query(server):
    for path in ("/short", "/short?a=b"):
        answer, body = get(server, path)
        assert (answer.status, body) == (200, b"one two")
        assert answer.getheader("Content-Type") == "text/plain"


def test_the_head_of_a_page_has_no_body(server):
    answer, body = get(server, "/short", "HEAD")
    assert (answer.status, answer.getheader("Content-Length"), body) == (200, "7", b"")


def test_an_unknown_path_names_those_that_there_are(server):
    answer, body = get(server, "/")
    assert (answer.status, body) == (404, b"there is: /short /long /huge /wait /fail\n")


def test_nothing_can_be_posted(server):
    assert get(server, "/short", "POST")[0].status == 501


def test_a_long_page_is_packed_for_who_takes_that(server):
    answer, body = get(server, "/long", **{"Accept-Encoding": "gzip"})
    assert answer.getheader("Content-Encoding") == "gzip"
    assert len(body) < 1000
    assert gzip.decompress(body) == b"x" * 10_000
    assert get(server, "/long")[1] == b"x" * 10_000


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("deflate, GZIP;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.0, identity", False), ("br", False)],
)
def test_a_long_page_is_packed_only_for_who_takes_that(server, accepted, packed):
    answer, _ = get(server, "/long", **{"Accept-Encoding": accepted})
    assert (answer.getheader("Content-Encoding") == "gzip") is packed


def test_a_page_of_many_parts_and_megabytes_is_whole(server):
    body = b"".join(HUGE)
    assert get(server, "/huge")[1] == body
    assert gzip.decompress(get(server, "/huge", **{"Accept-Encoding": "gzip"})[1]) == body


def ask(server, request):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request)
        answer = b""
        while some := connection.recv(65536):
            answer += some
    return answer.partition(b"\r\n")[0]


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"what is this\r\n\r\n", b"400"),
        (b"GET /short HTTP/9.9\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /short HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET /short HTTP/1.1\r\n" + b"A: x\r\n" * 200 + b"\r\n", b"431"),
    ],
)
def test_a_bad_request_is_refused_and_the_next_is_served(server, request_bytes, status):
    assert ask(server, request_bytes).split()[1] == status
    assert get(server, "/short")[0].status == 200


def test_one_connection_serves_several_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for method, body in (("GET", b"one two"), ("HEAD", b""), ("GET", b"one two")):
        connection.request(method, "/short")
        assert connection.getresponse().read() == body
    connection.close()


def test_connections_beyond_the_limit_are_closed_and_others_are_served_again_later(server, gate):
    waiting = []
    for _ in range(REQUESTS_MAX):
        waiting.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        waiting[-1].sendall(b"GET /wait HTTP/1.0\r\n\r\n")
    one_more = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    assert one_more.recv(1) == b""
    gate.set()
    for each in waiting:
        answer = b""
        while some := each.recv(1000):
            answer += some
        assert answer.endswith(b"waited")
        each.close()
    one_more.close()
    assert get(server, "/short")[0].status == 200


def test_one_silent_connection_gives_way_and_the_others_stay():
    now = [0.0]

    def page():
        return Page(HTTPStatus.OK, "text/plain", [b"here"])

    found = HttpServer("127.0.0.1", 0, {"/": page}, lambda: now[0])
    found.start()
    silent = []
    for _ in range(REQUESTS_MAX):  # each has been taken when its first answer has come
        silent.append(socket.create_connection(("127.0.0.1", found.port), timeout=30))
        silent[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        while not silent[-1].recv(1000).endswith(b"here"):
            pass
    now[0] = 1.5
    assert get(found, "/")[1] == b"here"
    [gone] = select.select(silent, [], [], 0)[0]
    assert gone.recv(1) == b""
    silent.remove(gone)
    silent[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert silent[-1].recv(1000)
    for each in [gone, *silent]:
        each.close()
    found.stop()


def test_a_page_that_fails_ends_its_connection_and_is_logged(server, caplog):
    with caplog.at_level(logging.ERROR, ROOT), pytest.raises(http.client.RemoteDisconnected):
        get(server, "/fail")
    assert get(server, "/short")[0].status == 200
    assert "request failed" in caplog.text


def test_an_address_that_is_taken_is_an_error(server):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            HttpServer("127.0.0.1", taken.getsockname()[1], {})


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
def test_nobody_is_served_after_its_end(host):
    found = HttpServer(host, 0, {})
    found.start()
    found.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, found.port), timeout=30)


def test_ipv6_addresses_are_taken():
    found = HttpServer("[::1]", 0, {"/": lambda: Page(HTTPStatus.OK, "text/plain", [b"six"])})
    found.start()
    try:
        connection = http.client.HTTPConnection("::1", found.port, timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"six"
        connection.close()
    finally:
        found.stop()
