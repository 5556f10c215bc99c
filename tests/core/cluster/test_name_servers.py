import pytest

from mqframe.core.cluster.name_servers import NameServers, parse_addresses
from mqframe.core.errors import SettingError


def test_addresses_are_split_at_semicolons_and_commas():
    assert parse_addresses("a:1; b:2,http://c:3;;a:1") == ("a:1", "b:2", "c:3")
    assert parse_addresses("[::1]:9876") == ("[::1]:9876",)


@pytest.mark.parametrize("text", ["a", "a:", ":1", "a:x", "a:0", "a:70000", "a:²", "a:٣"])
def test_a_bad_address_is_named(text):
    with pytest.raises(SettingError, match=r"not host:port"):
        parse_addresses(text)


def test_no_address_says_what_to_do():
    with pytest.raises(SettingError, match="NAMESRV_ADDR"):
        parse_addresses(" ; ")


def test_the_one_that_answered_is_asked_again():
    servers = NameServers(("a:1", "b:2", "c:3"), start=4)
    assert servers.current == "b:2"
    assert next(servers.tries()) == "b:2"
    assert servers.current == "b:2"


def test_a_failed_one_is_left_for_the_next_and_each_is_asked_once():
    servers = NameServers(("a:1", "b:2", "c:3"))
    tries = servers.tries()
    assert [next(tries), next(tries)] == ["a:1", "b:2"]
    assert servers.current == "b:2"
    assert list(servers.tries()) == ["b:2", "c:3", "a:1"]
