from __future__ import annotations

import pytest
from mqframe_testing.consuming import received

from mqframe.core.errors import PluginError
from mqframe.core.messages.json_codec import JSON, JsonCodec
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.codecs import BY_CONTENT_TYPE, Codecs
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Avro(JsonCodec):
    name = "mine"


class Mine:
    made = 0

    @hookimpl
    def register_codecs(self):
        def make():
            Mine.made += 1
            return Avro()

        return {"avro": make}


def message(said: str) -> ReceivedMessage:
    return received(1, contentType=said)


def test_without_a_choice_the_content_type_counts_and_else_json() -> None:
    plugins = PluginManager(list)
    plugins.register(Mine())
    codecs = Codecs(plugins)
    assert codecs.of(message("")) is JSON
    assert codecs.of(message("application/json")).name == "json"
    assert codecs.of(message("text/plain")) is JSON
    before = Mine.made
    assert codecs.of(message("Avro/Binary; x=y")).name == "mine"
    assert codecs.of(message("avro/binary")).name == "mine"
    assert Mine.made == before + 1
    assert codecs.of_values is JSON


def test_a_choice_counts_whatever_messages_say() -> None:
    chosen = Avro()
    codecs = Codecs(PluginManager(list), chosen)
    assert codecs.of(message("application/protobuf")) is chosen
    assert codecs.of_values is chosen
    assert codecs.with_choice(None) is codecs
    assert codecs.with_choice("json").chosen.name == "json"


def test_what_is_not_installed_is_told_with_the_line_that_installs_it() -> None:
    with pytest.raises(PluginError, match="pip install mqframe-plugin-protobuf"):
        Codecs(PluginManager(list)).of(message("application/protobuf"))
    with pytest.raises(PluginError, match="is no Codec"):
        Codecs(PluginManager(list), object())


def test_content_types_name_codecs_that_there_are() -> None:
    known = {name for kind, name in KNOWN_DISTRIBUTIONS if kind == "codec"} | {"json"}
    assert set(BY_CONTENT_TYPE.values()) <= known
