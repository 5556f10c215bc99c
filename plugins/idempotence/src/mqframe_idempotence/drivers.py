"""Which database a driver is for, told by the modules of its classes: drivers share none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MYSQL: Final = "mysql"
"""MariaDB is meant as well: both understand all statements."""
POSTGRESQL: Final = "postgresql"
SQLITE: Final = "sqlite"
DIALECTS: Final = (MYSQL, POSTGRESQL, SQLITE)
_OF_DRIVERS: Final = {
    "MySQLdb": MYSQL,
    "aiomysql": MYSQL,
    "asyncmy": MYSQL,
    "mariadb": MYSQL,
    "mysql": MYSQL,
    "pymysql": MYSQL,
    "pg8000": POSTGRESQL,
    "psycopg": POSTGRESQL,
    "psycopg2": POSTGRESQL,
    "psycopg2cffi": POSTGRESQL,
    "aiosqlite": SQLITE,
    "sqlite3": SQLITE,
}


def dialect_of(thing: object) -> str:
    """The dialect of a connection, or of an exception: one of `DIALECTS`, else the driver's name.

    Classes that an application derives from a driver's are known as well.
    """
    names = [module.partition(".")[0] for module in modules_of(thing)]
    return next((_OF_DRIVERS[name] for name in names if name in _OF_DRIVERS), names[0])


def dialect_named(name: str) -> str:
    """The dialect that others call `name`: "mariadb" is MySQL's."""
    return MYSQL if name == "mariadb" else name


def modules_of(thing: object) -> Iterator[str]:
    """The modules of the class of `thing`, and of those that it is derived from."""
    for cls in type(thing).__mro__:
        yield cls.__module__
