"""Whether whatever one JSON schema lets be written fits another one, told from the two schemas alone.

The answer errs on one side: where nothing is found, each value that fits the writer's (closed, see
`json_shape`) fits the reader's. What is found may be a question that these rules cannot answer, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mqframe_schemas.rules.compatibility import Difference
from mqframe_schemas.rules.json_keywords import differing_arrays, differing_numbers, differing_strings
from mqframe_schemas.rules.json_shape import (
    IN_PLACE,
    canonical,
    closes,
    constraining,
    pointed,
    references,
    wrapped,
)

STEPS_MAX: Final = 20_000
"""Pairs of schemas that are looked at for one answer."""
TYPES: Final = ("null", "boolean", "object", "array", "number", "string")
_LEFT: Final = ("not", "if", "dependentSchemas", "contains", "unevaluatedItems", "$dynamicRef")
"""Keywords that only their like is known to be at least as narrow as."""
_SAME: Final = ("enum", "const", "allOf", "anyOf", "oneOf", "not", "dependentSchemas", "dependentRequired")
"""Keywords whose meaning hangs on no other keyword beside them."""
_AFTER_ALL: Final = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords about what no other schema for the same value speaks of: without these they say something else."""
_TOGETHER: Final = (("if", "then", "else"), ("contains", "minContains", "maxContains"))
Accepts = Callable[[Any, Any], bool]
Found = list[Difference]


class TooManySteps(Exception):
    """The schemas are too large to be compared."""


class JsonComparison:
    """One writer's schema and one reader's, with what their references point to.

    `accepts`: whether a value fits a part of the reader's schema, by a validator.
    """

    def __init__(self, writer: Any, reader: Any, accepts: Accepts) -> None:
        self._writer = writer
        self._reader = reader
        self._accepts = accepts
        self._steps = 0
        self._under_way: set[tuple[int, int, bool]] = set()
        self._made: dict[tuple[int, object], dict[str, Any]] = {}
        self._same_definitions = all(
            canonical(_part(writer, name)) == canonical(_part(reader, name))
            for name in ("$defs", "definitions")
        )

    def differences(self) -> Found:
        """Why the reader cannot read what the writer writes; nothing where it can."""
        if canonical(self._writer) == canonical(self._reader):
            return []
        try:
            return self._compare(self._writer, self._reader, "$", True)
        except (TooManySteps, RecursionError):
            return [Difference("", "the schemas are too large or too deep to be compared")]
        except LookupError as problem:
            return [Difference("", f"a reference leads nowhere: {problem}")]

    def _compare(self, old: Any, new: Any, path: str, shut: bool) -> Found:
        """`shut`: whether objects have no properties but those that the writer's schema names."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TooManySteps
        old, new = self._followed(old, self._writer), self._followed(new, self._reader)
        if new is True or old is False:
            return []
        if new is False:
            return [Difference(path, "nothing may be there any more")]
        pair = id(old), id(new), shut
        if pair in self._under_way:
            return []  # a value ends somewhere, and up to there each level was looked at
        self._under_way.add(pair)
        try:
            return self._parts({} if old is True else old, new, path, shut)
        finally:
            self._under_way.discard(pair)

    def _parts(self, old: dict[str, Any], new: dict[str, Any], path: str, shut: bool) -> Found:
        new = self._without_same(old, new)
        if not constraining(new):
            return []
        if "const" in old or "enum" in old:
            values = [old["const"]] if "const" in old else old["enum"]
            bad = [canonical(value) for value in values if not self._accepts(new, value)]
            return (
                [Difference(path, f"{', '.join(bad)[:80]} is no longer among what it may be")] if bad else []
            )
        if "allOf" in new:
            each = [
                self._compare(old, part, path, shut) for part in [self._rest(new, "allOf"), *new["allOf"]]
            ]
            return _joined(each)
        for keyword in ("anyOf", "oneOf"):
            if keyword in old:
                return self._alternatives(old, keyword, new, path, shut)
        if "allOf" in old:
            return self._all_of(old, new, path, shut)
        kinds = old.get("type")
        if isinstance(kinds, list) and len(kinds) > 1 and ("anyOf" in new or "oneOf" in new):
            split = [self._keep(old, kind, {**old, "type": kind}) for kind in kinds]
            return _joined(self._compare(part, new, path, shut) for part in split)
        for keyword in ("anyOf", "oneOf"):
            if keyword in new:
                return self._one_of_many(old, new, keyword, path, shut)
        shut = shut and not any(key in old for key in IN_PLACE)
        return self._keywords(old, new, path, shut)

    def _alternatives(self, old: dict[str, Any], keyword: str, new: Any, path: str, shut: bool) -> Found:
        if wrapped(old):
            return _joined(self._compare(part, new, path, shut) for part in old[keyword])
        rest = self._compare(self._rest(old, keyword, *_AFTER_ALL), new, path, False)
        if not rest or not (found := _joined(self._compare(part, new, path, False) for part in old[keyword])):
            return []
        return rest if len(rest) <= len(found) else found

    def _all_of(self, old: dict[str, Any], new: Any, path: str, shut: bool) -> Found:
        if wrapped(old):
            return self._compare(old["allOf"][0], new, path, shut)
        best: Found | None = None
        for part in [self._rest(old, "allOf", *_AFTER_ALL), *old["allOf"]]:
            found = self._compare(part, new, path, False)
            if not found:
                return []
            best = found if best is None or len(found) < len(best) else best
        return best or []

    def _one_of_many(
        self, old: dict[str, Any], new: dict[str, Any], keyword: str, path: str, shut: bool
    ) -> Found:
        parts = new[keyword]
        if keyword == "oneOf" and not self._apart(parts):
            return [Difference(path, "whether it fits just one of the alternatives (oneOf) cannot be told")]
        rest = self._compare(old, self._rest(new, keyword), path, shut)
        best: Found | None = None
        for part in parts:
            found = self._compare(old, part, path, shut)
            if not found:
                return rest
            best = found if best is None or len(found) < len(best) else best
        return [*rest, *(best or [Difference(path, "it has no alternative any more")])]

    def _keywords(self, old: dict[str, Any], new: dict[str, Any], path: str, shut: bool) -> Found:
        found = [
            Difference(path, f"whether it fits {key!r}, which is new or changed, cannot be told")
            for key in _LEFT
            if key in new
        ]
        if "const" in new or "enum" in new:
            found.append(Difference(path, "it may be some values only, and could be others before"))
        before, now = _types(old), _types(new)
        found += [
            Difference(path, f"it may be of type {kind}, which is no longer read")
            for kind in sorted(before - now)
            if kind != "integer" or "number" not in now
        ]
        if before & {"number", "integer"}:
            found += differing_numbers(old, new, path, whole="number" not in before)
        if "string" in before:
            found += differing_strings(old, new, path)
        if "array" in before:
            found += differing_arrays(old, new, path)
            found += self._items(old, new, path, shut)
        if "object" in before:
            found += self._objects(old, new, path, shut)
        return found

    def _items(self, old: dict[str, Any], new: dict[str, Any], path: str, shut: bool) -> Found:
        was, now = old.get("prefixItems", []), new.get("prefixItems", [])
        rest, new_rest = old.get("items", True), new.get("items", True)
        found: Found = []
        for index in range(max(len(was), len(now))):
            before = was[index] if index < len(was) else rest
            after = now[index] if index < len(now) else new_rest
            found += self._compare(before, after, f"{path}[{index}]", shut)
        return found + self._compare(rest, new_rest, f"{path}[...]", shut)

    def _objects(self, old: dict[str, Any], new: dict[str, Any], path: str, shut: bool) -> Found:
        was, now = old.get("properties", {}), new.get("properties", {})
        rest, new_rest = _rest_of(old, shut), _rest_of(new, False)
        found = self._names(old, new, path, bool(rest is False))
        by_pattern = old.get("patternProperties") or new.get("patternProperties")
        if by_pattern and not self._same_meaning(constraining(old), constraining(new)):
            return [*found, Difference(path, "whether it fits 'patternProperties' cannot be told")]
        for name in sorted({*was, *now}):
            before, after = was.get(name, rest), now.get(name, new_rest)
            found += self._compare(before, after, f"{path}.{name}", shut)
        found += self._compare(rest, new_rest, f"{path}.*", shut)
        if "unevaluatedProperties" in new and any(key in new for key in IN_PLACE):
            found.append(Difference(path, "whether it fits 'unevaluatedProperties' cannot be told"))
        return found

    def _names(self, old: dict[str, Any], new: dict[str, Any], path: str, few: bool) -> Found:
        """Which names are there, and how many. `few`: none but those in `properties` and patterns."""
        required, names = set(old.get("required", ())), list(old.get("properties", {}))
        found = [
            Difference(f"{path}.{name}", "it is required, and could be left out before")
            for name in new.get("required", ())
            if name not in required
        ]
        for name, others in new.get("dependentRequired", {}).items():
            if not set(others) <= required and not (few and name not in names):
                found.append(Difference(f"{path}.{name}", "whether what it asks for is there cannot be told"))
        if new.get("minProperties", 0) > max(old.get("minProperties", 0), len(required)):
            found.append(Difference(path, "it could have fewer properties before"))
        most, patterns = new.get("maxProperties"), old.get("patternProperties")
        if most is not None and not (
            old.get("maxProperties", most + 1) <= most or (few and not patterns and len(names) <= most)
        ):
            found.append(Difference(path, "it could have more properties before"))
        allowed = new.get("propertyNames", True)
        if allowed is not True and not (
            few and not patterns and all(self._accepts(allowed, each) for each in names)
        ):
            before = old.get("propertyNames", True)
            found += self._compare(before, allowed, f"{path} (names)", False)
        return found

    def _without_same(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """`new` without what `old` says in the same words."""
        groups = [(key,) for key in _SAME if key in new] + [group for group in _TOGETHER if group[0] in new]
        same = [group for group in groups if self._says_same(old, new, group)]
        if not same:
            return new
        left = {key: value for key, value in new.items() if not any(key in group for group in same)}
        return self._keep(new, ("without", id(old)), left)

    def _says_same(self, old: dict[str, Any], new: dict[str, Any], group: Iterable[str]) -> bool:
        return all(self._same_meaning(_part(old, key), _part(new, key)) for key in group)

    def _same_meaning(self, before: Any, after: Any) -> bool:
        """Whether both say the same in the same words, those of what they refer to among them."""
        if canonical(before) != canonical(after):
            return False
        pointing = references(after)
        deep = all(each.startswith(("#/$defs/", "#/definitions/")) for each in pointing)
        return not pointing or (deep and self._same_definitions)

    def _rest(self, schema: dict[str, Any], *without: str) -> dict[str, Any]:
        rest = {key: value for key, value in schema.items() if key not in without}
        return self._keep(schema, ("rest", without), rest)

    def _keep(self, schema: dict[str, Any], what: object, made: dict[str, Any]) -> dict[str, Any]:
        """`made` of `schema`, the same object each time, so that pairs are known again."""
        return self._made.setdefault((id(schema), what), made)

    def _followed(self, schema: Any, root: Any) -> Any:
        for _ in range(100):
            if not isinstance(schema, dict) or "$ref" not in schema:
                return schema
            if wrapped(schema) != "$ref":
                # Of the reader's schema what is unevaluated is asked more strictly, which does no harm.
                without = ("$ref", *_AFTER_ALL) if root is self._writer else ("$ref",)
                both = [{"$ref": schema["$ref"]}, self._rest(schema, *without)]
                return self._keep(schema, "both", {"allOf": both})
            schema = pointed(root, schema["$ref"])
        raise LookupError("references go round in a circle")

    def _apart(self, parts: list[Any]) -> bool:
        """Whether no value fits two of these parts of the reader's schema."""
        shapes = [self._followed(part, self._reader) for part in parts]
        return all(
            isinstance(one, dict) and isinstance(other, dict) and self._no_value_fits(one, other)
            for at, one in enumerate(shapes)
            for other in shapes[at + 1 :]
        )

    def _no_value_fits(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        kinds = [{"number" if kind == "integer" else kind for kind in _types(each)} for each in (one, other)]
        if not kinds[0] & kinds[1]:
            return True
        values = _values(one), _values(other)
        if None not in values:
            return not (values[0] or set()) & (values[1] or set())
        if kinds != [{"object"}, {"object"}]:
            return False
        for name in set(one.get("required", ())) & set(other.get("required", ())):
            found = [
                self._followed(_part(_part(each, "properties"), name), self._reader) for each in (one, other)
            ]
            if all(isinstance(each, dict) for each in found) and self._no_value_fits(found[0], found[1]):
                return True
        return False


def _types(schema: Mapping[str, Any]) -> set[str]:
    said = schema.get("type")
    if said is None:
        return set(TYPES)
    return set(said) if isinstance(said, list) else {said}


def _values(schema: Mapping[str, Any]) -> set[str] | None:
    if "const" in schema:
        return {canonical(schema["const"])}
    return set(map(canonical, schema["enum"])) if "enum" in schema else None


def _rest_of(schema: dict[str, Any], shut: bool) -> Any:
    """What holds for properties that the schema does not name."""
    if "additionalProperties" in schema:
        return schema["additionalProperties"]
    if "unevaluatedProperties" in schema and not any(key in schema for key in IN_PLACE):
        return schema["unevaluatedProperties"]
    return not (shut and closes(schema))


def _part(schema: Any, name: str) -> Any:
    return schema.get(name) if isinstance(schema, dict) else None


def _joined(found: Iterable[Found]) -> Found:
    return list(dict.fromkeys(each for some in found for each in some))
