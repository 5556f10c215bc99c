"""Parts of pages that change something: forms that are posted, with inputs, choices and rows to tick."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen
class Input:
    """One input. `kind`: text, password, number, checkbox, whose value is its state, or area of lines."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    kind: str = "text"


@attrs.frozen
class ChoiceField:
    """One of several: `options` are values with what is shown of them."""

    name: str
    label: str
    options: Mapping[str, str]
    value: str = ""
    kind: str = "choice"


@attrs.frozen
class Ticks:
    """Rows that are ticked one by one; the values of those that are come as `name`."""

    name: str
    rows: Mapping[str, Mapping[str, Any]]


@attrs.frozen
class ChangeForm:
    """A form that is posted to `action`. `hidden`: values that go along; `button`: what its button says.

    `method`: "get" for one that only reads, which carries no token.
    """

    action: str
    button: str
    fields: Sequence[Input | ChoiceField] = ()
    hidden: Mapping[str, str] = attrs.field(factory=dict)
    ticks: Ticks | None = None
    method: str = "post"
    kind: str = "change"


@attrs.frozen
class Visitor:
    """Who looks at a page. `user`: "" for nobody; `token`: what their forms have to carry."""

    may_sign_in: bool = False
    user: str = ""
    token: str = attrs.field(default="", repr=False)

    def ticket(self) -> str:
        """A name for one form, by which it is known when it comes twice."""
        return secrets.token_urlsafe(16)


NOBODY = Visitor()
