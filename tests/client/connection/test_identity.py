"""Who a client is, and in which process."""

import os

import pytest

from mqframe.client.connection import identity
from mqframe.client.connection.identity import (
    SameProcess,
    client_id,
    local_ip,
    nameserver_text,
    packed_ip,
    wire_hooks,
    wire_names,
    with_nameserver,
)
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import ClosedError, FixError, SettingError
from mqframe.hooks import client_parts
from mqframe.hooks.interfaces import RpcHook


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


class Namespace(RpcHook):
    """Stands for the part of clients that has their names in a namespace."""

    def __init__(self, namespace):
        self.namespace = namespace

    def wrapped(self, name):
        return f"{self.namespace}%{name}"


def test_a_namespace_comes_before_all_rpc_hooks(monkeypatch):
    monkeypatch.setattr(identity, "load_part", {"namespaces": Namespace}.__getitem__)
    own, plain, shop = RpcHook(), ClientSettings(), ClientSettings(namespace="shop")
    assert wire_hooks(plain, (own,)) == (own,)
    first, second = wire_hooks(shop, (own,))
    assert (first.namespace, second) == ("shop", own)
    assert [wire_names(each)("orders") for each in (plain, shop)] == ["orders", "shop%orders"]


def test_a_namespace_that_nothing_here_knows_of_names_what_to_install(monkeypatch):
    monkeypatch.setattr(client_parts, "offered_parts", dict)
    with pytest.raises(FixError, match=r"namespaces need mqframe-plugin-namespaces.*pip install"):
        wire_hooks(ClientSettings(namespace="shop"), ())


def test_a_bad_name_server_is_named():
    with pytest.raises(SettingError, match="not host:port"):
        local_ip(ClientSettings(nameserver="nowhere"))
