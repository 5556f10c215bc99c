"""Database servers that the tests start, each in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from real_time import until


def postgres_folder() -> Path | None:
    """Where the programs of PostgreSQL are, of the newest version where several are installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    return places[-1].parent if places else None


class DatabaseServer:
    """A server with its files in `folder`. As root does not run it, the user `name` does, or nobody.

    `end_signal`: ends it, sessions that are open as well.
    """

    end_signal = signal.SIGTERM
    away: type[Exception]
    """What `connect` raises while it does not answer."""
    first_options: dict[str, Any] = {}
    """Of `connect`, while there is nothing in it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._user: Any = None
        if os.geteuid() == 0:
            names = {user.pw_name: user for user in pwd.getpwall()}
            self._user = names.get(name) or names["nobody"]
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None

    def connect(self, **options: Any) -> Any:
        raise NotImplementedError

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(self.end_signal)
            self._process.wait(60)

    def _prepare(self, program: Path, *words: str) -> None:
        command = [str(program), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stdout + done.stderr

    def _serve(self, program: Path, *words: str) -> None:
        with (self._folder / "log").open("wb") as log:
            command = [str(program), *words]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._as_user())
        until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        if not self._listens():
            return False
        try:
            self.connect(**self.first_options).close()
        except self.away:
            return False
        return True

    def _listens(self) -> bool:
        return True

    def _as_user(self) -> dict[str, Any]:
        # MariaDB deletes what looks like its own from the folder for temporary files: others' as well.
        where = {"cwd": str(self._folder), "env": {**os.environ, "TMPDIR": str(self._folder)}}
        if self._user is None:
            return where
        return {**where, "user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


class PostgresServer(DatabaseServer):
    """PostgreSQL."""

    end_signal = signal.SIGINT  # SIGTERM would wait for the sessions
    away = psycopg.OperationalError

    def __init__(self, programs: Path, folder: Path) -> None:
        super().__init__(folder, "postgres")
        self._programs = programs

    @property
    def conninfo(self) -> str:
        return f"host={self._folder} user=tester dbname=postgres"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://tester@/postgres?host={self._folder}"

    def start(self, *, fsync: bool = False) -> None:
        data = str(self._folder / "data")
        words = ["-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        self._prepare(self._programs / "initdb", *words)
        words = ["-D", data, "-k", str(self._folder), "-c", "listen_addresses="]
        words += ["-c", f"fsync={'on' if fsync else 'off'}", "-c", "max_connections=60"]
        self._serve(self._programs / "postgres", *words, "-c", "shared_buffers=32MB")

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conninfo, **options)


def maria_program() -> Path | None:
    """The server of MariaDB, which is not on every PATH."""
    place = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
    found = shutil.which("mariadbd", path=place)
    return Path(found) if found and shutil.which("mariadb-install-db") else None


class MariaServer(DatabaseServer):
    """MariaDB, with defaults under which keys would be compared wrongly.

    `program`: that of the server.
    """

    away = pymysql.OperationalError
    first_options = {"database": None}

    def __init__(self, program: Path, folder: Path) -> None:
        super().__init__(folder, "mysql")
        self._program = program
        self.socket = str(folder / "socket")
        self.options: dict[str, Any] = {"unix_socket": self.socket, "user": "root", "database": "shop"}
        """What drivers are told."""

    def url(self, driver: str) -> str:
        return f"{driver}://root@localhost/shop?unix_socket={self.socket}"

    def start(self, *, fsync: bool = False) -> None:
        data = f"--datadir={self._folder / 'data'}"
        words = ["--no-defaults", data, "--skip-test-db", "--auth-root-authentication-method=normal"]
        self._prepare(Path("mariadb-install-db"), *words)
        words = ["--no-defaults", data, f"--socket={self.socket}", "--skip-networking"]
        words += [f"--pid-file={self._folder / 'pid'}", "--character-set-server=latin1", "--skip-log-bin"]
        words += ["--collation-server=latin1_swedish_ci", "--innodb-buffer-pool-size=32M"]
        words += ["--innodb-use-native-aio=0", f"--innodb-flush-log-at-trx-commit={int(fsync)}"]
        self._serve(self._program, *words)
        with self.connect(**self.first_options) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:  # PyMySQL would leave it open where it is refused
            return probe.connect_ex(self.socket) == 0

    def connect(self, **options: Any) -> pymysql.Connection[Any]:
        return pymysql.connect(**{**self.options, **options})


class FreshTables:
    """Tables for one test: one for keys, which it makes, and one for effects."""

    def __init__(self, server: DatabaseServer) -> None:
        self.server = server
        self.keys = f"keys_{uuid.uuid4().hex[:12]}"
        self.effects = f"effects_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE TABLE {self.effects} (name VARCHAR(100))")

    def names(self) -> list[str]:
        return [row[0] for row in self.run(f"SELECT name FROM {self.effects} ORDER BY name")]

    def run(self, text: str) -> list[Any]:
        """Carry out a statement in a connection of its own; its rows."""
        connection = self.server.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(text)
            rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return rows
        finally:
            connection.close()
