"""Which codec is meant: the one that was chosen, the one of a message's content type, or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.messages.codec import Codec
from mqframe.core.messages.json_codec import JSON
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.typed import content_type
from mqframe.hooks.interfaces import Plugins

BY_CONTENT_TYPE: Final[Mapping[str, str]] = {
    "application/json": "json",
    "text/json": "json",
    "application/avro": "avro",
    "avro/binary": "avro",
    "application/protobuf": "protobuf",
    "application/x-protobuf": "protobuf",
}
"""Names of codecs by the media types that senders write."""


class Codecs:
    """The codecs of one client. `choice`: name, class or object; `None` leaves it to each message.

    Raises `PluginError` or `SettingError` when the choice cannot be made.
    """

    def __init__(self, plugins: Plugins, choice: object = None) -> None:
        self._plugins = plugins
        self.chosen: Codec | None = None if choice is None else self.create(choice)
        self._by_content: dict[str, Codec] = {"": JSON}

    def create(self, choice: object) -> Codec:
        """The codec that `choice` stands for. Raises `PluginError` or `SettingError`."""
        codec: Codec = self._plugins.create("codec", choice)
        return codec

    @property
    def of_values(self) -> Codec:
        """The codec for values that are sent."""
        return self.chosen or JSON

    def of(self, message: ReceivedMessage) -> Codec:
        """The codec for `message`: the chosen one, else that of its content type, else JSON.

        Raises `PluginError` for a content type whose codec is not installed, and what making it raises.
        """
        if self.chosen is not None:
            return self.chosen
        said = content_type(message.properties)
        codec = self._by_content.get(said)
        if codec is None:
            name = BY_CONTENT_TYPE.get(said)
            if name is None:
                return JSON  # senders may write anything, which is not to be remembered
            codec = self._by_content[said] = self.create(name)
        return codec

    def with_choice(self, choice: object) -> Codecs:
        """The same with `choice` instead, unless that is `None`."""
        return self if choice is None else Codecs(self._plugins, choice)
