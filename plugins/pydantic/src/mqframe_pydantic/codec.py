"""JSON by pydantic."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.hooks.interfaces import Codec


class PydanticCodec(Codec):
    """Models, dataclasses and plain types in JSON, validated when they are decoded."""

    name = "pydantic"
    content_type = "application/json"

    @settings("plugins.pydantic")
    class Options:
        """How values are written and read."""

        by_alias: bool = setting(True, doc="fields are called by their aliases in bodies")
        exclude_none: bool = setting(False, doc="fields of models that are None are left out of bodies")
        strict: bool = setting(False, doc="nothing is converted when it is read: a text is no number")

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or self.Options()

    def encode(self, value: Any) -> bytes:
        """JSON in UTF-8. Raises `EncodeError`."""
        given = self._options
        try:
            return to_json(value, by_alias=given.by_alias, exclude_none=given.exclude_none)
        except (PydanticSerializationError, ValueError, TypeError, RecursionError) as problem:
            cause = type(problem).__name__
        raise EncodeError(f"a {type(value).__qualname__} cannot be encoded by pydantic: {cause}")

    def decode(self, body: bytes, type: Any) -> Any:
        """The value, validated as a `type`. Raises `DecodeError` with the first of its faults."""
        try:
            return _adapter(type).validate_json(body, strict=self._options.strict or None)
        except ValidationError as problem:
            faults = problem.errors(include_url=False, include_context=False, include_input=False)
        except RecursionError:
            raise DecodeError("nested too deeply") from None
        first = faults[0]
        said = first["msg"]
        if first["type"] == "union_tag_invalid":  # the only message that quotes the body
            said = "the tag is none of the expected ones"
        if len(faults) > 1:
            said += f" (and {len(faults) - 1} more)"
        raise DecodeError(said, ".".join(map(str, first["loc"])))

    def check(self, type: Any) -> None:
        """Raises `FixError` for what pydantic makes no schema of."""
        try:
            _adapter(type)
        except (PydanticUserError, TypeError, NameError) as problem:
            said = str(problem).partition("\n")[0]
            raise FixError(f"{type} cannot be decoded by pydantic: {said}") from problem


def _adapter(type: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(type)
    except TypeError:
        return TypeAdapter(type)  # not hashable


@lru_cache(maxsize=1024)
def _cached_adapter(type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(type)
