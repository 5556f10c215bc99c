"""Members of etcd for the tests, on loopback, each a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import trustme
from mqframe_etcd import EtcdCoordination, EtcdOptions
from mqframe_testing import ManualClock
from mqframe_testing.ports import lasting_port

from mqframe.hooks.interfaces import GroupPlace

START_SECONDS = 60.0


def until(true: Callable[[], object], seconds: float = START_SECONDS) -> None:
    """Wait until `true()`; fails when that does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def place(member: int, broker: str = "broker-a") -> GroupPlace:
    return GroupPlace("DefaultCluster", broker, member)


def coordination(**options: Any) -> EtcdCoordination:
    return EtcdCoordination(ManualClock(), EtcdOptions(**options))


class Certificates:
    """An authority, a certificate of it for the members, and one for clients, as files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(self.ca)
        self.member, self.member_key = self.issue(folder, "member", "127.0.0.1")
        self.client, self.client_key = self.issue(folder, "client", "client@example.org")

    def issue(self, folder: Path, name: str, identity: str) -> tuple[Path, Path]:
        leaf = self.authority.issue_cert(identity, common_name=name)
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        leaf.cert_chain_pems[0].write_to_path(certificate)
        leaf.private_key_pem.write_to_path(key)
        return certificate, key


class EtcdMember:
    """One process, with `words` on its command line."""

    def __init__(self, program: str, folder: Path, endpoint: str, words: list[str]) -> None:
        self._folder = folder
        self._command = [program, "--data-dir", str(folder / "data"), *words]
        self.endpoint = endpoint
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        self._folder.mkdir(exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=environment, cwd=self._folder
            )

    def check_runs(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()[-3000:]

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait_until_it_stands(self) -> None:
        """Wait until all threads stand: on a busy machine others serve until one has taken the signal."""
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def kill(self) -> None:
        """As a power loss: it does not say good-bye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None


class EtcdCluster:
    """One member, or several that know each other."""

    def __init__(self, program: str, count: int = 1, certificates: Certificates | None = None) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="mqframe-etcd-", dir=memory if memory.is_dir() else None))
        self._verify: ssl.SSLContext | bool = False
        secured: list[str] = []
        scheme = "http"
        if certificates is not None:
            scheme = "https"
            secured = ["--cert-file", str(certificates.member), "--key-file", str(certificates.member_key)]
            secured += ["--trusted-ca-file", str(certificates.ca), "--client-cert-auth"]
            self._verify = ssl.create_default_context(cafile=certificates.ca)
            self._verify.load_cert_chain(certificates.client, certificates.client_key)
        ports = [lasting_port(1) for _ in range(count)]
        peers = [f"http://127.0.0.1:{port + 1}" for port in ports]
        everybody = ",".join(f"m{n}={peer}" for n, peer in enumerate(peers))
        self.members = []
        for n, port in enumerate(ports):
            endpoint = f"{scheme}://127.0.0.1:{port}"
            words = [
                "--name",
                f"m{n}",
                "--initial-cluster",
                everybody,
                "--initial-cluster-token",
                self.folder.name,
            ]
            words += ["--listen-client-urls", endpoint, "--advertise-client-urls", endpoint]
            words += ["--listen-peer-urls", peers[n], "--initial-advertise-peer-urls", peers[n]]
            self.members.append(EtcdMember(program, self.folder / f"m{n}", endpoint, words + secured))

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self.members)

    def start(self) -> None:
        for member in self.members:
            member.start()
        for member in self.members:
            self.wait_for(member)

    def wait_for(self, member: EtcdMember) -> None:
        """Wait until `member` has a leader."""

        def healthy() -> bool:
            member.check_runs()
            try:
                answer = self.post(member, "/v3/kv/range", {"key": b64encode(b"x").decode()})
            except httpx.TransportError:
                return False
            return answer.status_code in (200, 400)  # 400: it asks for a user

        until(healthy)

    def post(self, member: EtcdMember, path: str, body: dict[str, Any], token: str = "") -> httpx.Response:
        headers = {"Authorization": token} if token else {}
        with httpx.Client(verify=self._verify, trust_env=False, timeout=5) as client:
            return client.post(member.endpoint + path, content=json.dumps(body), headers=headers)

    def call(self, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
        answer = self.post(self.members[0], path, body, token)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def leader(self) -> int:
        """The number of the member that leads the others."""
        told = [self.post(each, "/v3/maintenance/status", {}).json() for each in self.members]
        return [each["header"]["member_id"] for each in told].index(told[0]["leader"])

    def stop(self) -> None:
        for member in self.members:
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Paused:
    """A member that stands still: its connections stay, and nothing answers."""

    def __init__(self, member: EtcdMember) -> None:
        self._member = member

    def __enter__(self) -> None:
        self._member.signal(signal.SIGSTOP)
        self._member.wait_until_it_stands()

    def __exit__(self, *_: object) -> None:
        self._member.signal(signal.SIGCONT)
