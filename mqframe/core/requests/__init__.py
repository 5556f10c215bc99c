"""All request kinds, one class each, and the table of them by code."""

from mqframe.core.requests import access as access
from mqframe.core.requests import admin as admin
from mqframe.core.requests import consumers as consumers
from mqframe.core.requests import election as election
from mqframe.core.requests import insight as insight
from mqframe.core.requests import messages as messages
from mqframe.core.requests import nameserver as nameserver
from mqframe.core.requests import pop as pop
from mqframe.core.requests import replies as replies
from mqframe.core.requests import roles as roles
from mqframe.core.requests.fields import REQUESTS as REQUESTS
from mqframe.core.requests.fields import Header as Header
from mqframe.core.requests.fields import NoHeader as NoHeader
from mqframe.core.requests.fields import Request as Request
from mqframe.core.requests.fields import decode_fields as decode_fields
from mqframe.core.requests.fields import encode_fields as encode_fields
