"""Bodies of messages held against the versions of a schema; what all kinds of schemas have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import attrs

from mqframe.core.errors import DecodeError
from mqframe_schemas.rules.compatibility import Described, Difference
from mqframe_schemas.rules.history import SchemaVersion


class UnfitBody(DecodeError):
    """A body is not what its schema says."""


@attrs.frozen
class ParsedSchema:
    """A schema as name servers are to keep it: `text`, and the `name` of what it describes, or ""."""

    text: str
    name: str = ""


class BodySchema(ABC):
    """One version of a schema, ready to be used. Used by several threads at once."""

    @abstractmethod
    def check(self, body: bytes) -> None:
        """Raises `UnfitBody` for a body that was not written by this version."""

    @abstractmethod
    def decode(self, body: bytes) -> Any:
        """What is in a body of this version: texts, numbers, lists, dicts. Raises `UnfitBody`."""

    def wrote(self, body: bytes) -> bool:
        """Whether the body itself says that this version wrote it."""
        return False

    def marked(self, body: bytes) -> bool:
        """Whether the body itself says by what schema it was written, this or another one."""
        return False


class SchemaFormat(ABC):
    """A kind of schemas. `name`: "json", "avro" or "protobuf"; `codec`: what writes and reads such bodies."""

    name: str
    codec: str

    @abstractmethod
    def parse(self, source: Any, message: str = "") -> ParsedSchema:
        """The schema that `source` is: a text, bytes, a dict or a class; `message`: the type that is meant.

        Raises `FixError` that says what is wrong with it.
        """

    @abstractmethod
    def load(self, version: SchemaVersion) -> BodySchema:
        """`version`, ready to be used. Raises `FixError`, also where a library is missing."""

    @abstractmethod
    def unread(self, writer: Described, reader: Described) -> list[Difference]:
        """Why whoever reads by `reader` cannot read what is written by `writer`; nothing where he can."""

    def codec_options(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> dict[str, Any]:
        """The options with which `codec` reads bodies of all `writers` as `reader` has them."""
        return {}
