"""Who a client is, and in which process."""

import os

import pytest

from mqframe.client.connection.identity import (
    SameProcess,
    client_id,
    local_ip,
    nameserver_text,
    packed_ip,
    with_nameserver,
)
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import ClosedError, SettingError


def test_the_client_id_is_like_that_of_java():
    settings = ClientSettings(nameserver="127.0.0.1:9876")
    assert local_ip(settings) == "127.0.0.1"
    assert client_id(settings, "10.0.0.7").startswith(f"10.0.0.7@{os.getpid()}#")
    assert client_id(settings, "10.0.0.7") != client_id(settings, "10.0.0.7")
    named = ClientSettings(
        nameserver="127.0.0.1:9876", instance_name="one", unit_name="u", client_ip="1.2.3.4"
    )
    assert client_id(named, local_ip(named)) == "1.2.3.4@one@u"
    assert packed_ip("1.2.3.4") == bytes((1, 2, 3, 4))
    assert packed_ip("no address") == bytes((127, 0, 0, 1))


def test_another_process_is_refused():
    same = SameProcess("producer")
    same.check()
    child = os.fork()
    if child == 0:
        try:
            same.check()
        except ClosedError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_where_the_name_server_comes_from(monkeypatch):
    monkeypatch.setenv("NAMESRV_ADDR", "env:1")
    own = ClientSettings(nameserver="own:1", unit_name="u")
    assert nameserver_text(ClientSettings()) == "env:1"
    assert nameserver_text(with_nameserver(own, "")) == "own:1"
    given = with_nameserver(own, "given:1")
    assert (nameserver_text(given), given.unit_name) == ("given:1", "u")


def test_a_bad_name_server_is_named():
    with pytest.raises(SettingError, match="not host:port"):
        local_ip(ClientSettings(nameserver="nowhere"))
