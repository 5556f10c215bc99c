"""One broker, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from mqframe.broker.assembly import make_parts
from mqframe.broker.cluster.new_topics import TopicSharing
from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.measured import MeasuredBroker
from mqframe.broker.missing_plugins import refusals_of_missing
from mqframe.broker.roles.group_role import GroupRole, RolePlace
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.services import followers_of_arrivals, make_services, notified
from mqframe.broker.state import BrokerState
from mqframe.broker.store_opening import StoreOpening
from mqframe.broker.tables.missing_tables import TOLD_OF, tell_of_missing
from mqframe.broker.tables.saved_changes import saved_before_answers
from mqframe.core.errors import MqframeError, PluginError, StoreError
from mqframe.core.measuring.failures import FailureCount
from mqframe.core.measuring.meter import SAMPLE_SECONDS
from mqframe.core.requests.lasting import Saved
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Handler, handlers_of
from mqframe.hooks.interfaces import BrokerPlace, BrokerPort, BrokerRole, BrokerService
from mqframe.hooks.isolate import hook_name
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.access.access import Access
from mqframe.net.access.audit import audited
from mqframe.net.client import Client
from mqframe.net.clock import Every, LoopClock
from mqframe.net.listeners import Listeners
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server
from mqframe.store.message_store import MessageStore
from mqframe.store.recovered_store import RecoveredStore

P = TypeVar("P", bound=BrokerPart)
log = get_logger("broker")
_CORRECTIONS_TOLD = 20


class Broker:
    """Serves producers and consumers; all its state belongs to the loop that it is started in.

    Making one opens and recovers the store; `start` makes it reachable. `plugins`: where its services,
    and the dispatchers and RPC hooks that the settings name, come from, with their options. `role`: what it
    is among those with the same log; without it, what the settings say. `recovered`: what was recovered of
    the store already, see `made_beside`.

    Raises `StoreError`, `PluginError`, and `SettingError` for bad options and for an advertised host that has
    no address.
    """

    def __init__(
        self,
        sections: BrokerSections,
        clock: LoopClock,
        plugins: PluginManager | None = None,
        role: GroupRole | None = None,
        recovered: RecoveredStore | None = None,
    ) -> None:
        self._sections, net = sections, sections.net
        self._settings = settings = sections.broker
        self._clock = clock
        plugins = plugins or PluginManager()
        self._dispatchers = plugins.create_all("dispatcher", settings.dispatchers)
        hooks = plugins.create_all("rpc_hook", settings.rpc_hooks)
        opening = StoreOpening(self._arrived, recovered)
        role = role or _role_of(sections, plugins)
        self._state = state = BrokerState(sections, clock, opening, plugins, role.log)
        self._store, self._keeper, self._identity = state.store, state.keeper, state.identity
        self._client = Client(clock, net, rpc_hooks=hooks)
        self._registration = NameServerRegistration(
            self._client, clock, state.live, state.identity, state.topics
        )
        self._client.on_close = self._registration.connection_closed
        state.asker = self._registration.ask
        try:
            self._services = services = make_services(state, settings, at_slave=sections.is_slave)
            place = RolePlace(sections, state, self._client, self._registration, self._quiesce)
            self._replication = role.replication(place)
            sharing = TopicSharing(state.shared, state.sends, self._client, self._registration.ask)
            made = make_parts(state, self._registration, services, self.counters)
            # Copies come first: where they have to have what a service stores at its start, they can get it.
            self._parts = [*self._replication.parts, *services, *made, sharing]
            # Most messages are of topics that only readers wait for.
            self._followers_by_topic, self._followers = followers_of_arrivals(self._parts)
            events = PeerEvents(self._end_turn, self._connection_closed)
            handlers = self._handlers(net.body_bytes_max)
            self._listeners = Listeners(
                lambda: Server(handlers, clock, net, rpc_hooks=hooks, events=events),
                settings.operator_port,
                net.body_bytes_max,
            )
            self._listeners.serve_in_process(state.requests)
            if state.frame_path is not None:
                self._listeners.shorten(state.frame_path)
            state.budgets.of_connections = self._listeners.counters
        except BaseException:
            # Whoever mends the settings makes another broker, in this process perhaps.
            self._keeper.close()
            self._store.abandon()
            raise
        self._connection_ends = notified(self._parts, "connection_closed")
        self._timers: list[Every] = []
        self._service_timers: list[Every] = []
        self._quiet = False
        self._measured: MeasuredBroker | None = None
        self._arrival_failures = FailureCount()

    @property
    def address(self) -> str:
        """The address that clients use, "host:port"; known once started."""
        return self._identity.address

    @property
    def store(self) -> MessageStore:
        """Where the messages are."""
        return self._store

    @property
    def service_port(self) -> BrokerPort:
        """What services are handed."""
        return self._state

    @property
    def is_registered(self) -> bool:
        """Whether a name server knows the broker, or there is none that should."""
        return self._registration.is_known

    def part(self, kind: type[P]) -> P:
        """The part of the class `kind`. Raises KeyError when there is none."""
        for part in self._parts:
            if isinstance(part, kind):
                return part
        raise KeyError(kind.__name__)

    @property
    def refusal(self) -> str:
        """Why no messages are taken at the moment; empty normally."""
        return str(self._store.refusals.now() or "")

    def measure(self) -> MeasuredBroker:
        """What monitoring may know, the same at each call; how long requests take is counted from now on."""
        if self._measured is None:
            listeners = self._listeners
            counters = lambda: self.counters() | listeners.refused()  # noqa: E731
            self._measured = MeasuredBroker(self._state, self._parts, listeners.measure(), counters)
        return self._measured

    @property
    def operator_address(self) -> str:
        """The address for operators, "host:port", where they have one of their own; known once started."""
        host, _, port = self.address.rpartition(":")
        return f"{host}:{self._listeners.operator_port or port}"

    def enforce(self, access: Access) -> None:
        """Serve, and be copied by, only those whom `access` lets; sign what is asked of other servers.

        To be called before `start`. Raises `PluginError` when two plugins serve the same request, and
        `SettingError` for a master whose slaves may not say who they are.
        """
        self._replication.enforce(access)
        try:
            self._listeners.enforce(access)
        except ValueError as problem:
            raise PluginError(f"access control does not go with the broker's services: {problem}") from None
        access.of_broker(lambda: BrokerPlace(self._identity.name, self._identity.address))
        signer = access.signer()
        if signer is not None:
            self._client.sign(signer)
        elif self._settings.nameservers:
            log.warning("what name servers are asked is not signed", missing="access.inner_credentials")

    def save_by(self, thread: Executor) -> None:
        """Have `thread` write tables; to be called before `start`."""
        self._keeper.thread = thread

    def _handlers(self, body_bytes_max: int) -> dict[int, Handler]:
        owners = [each for part in self._parts for each in part.serving()]
        try:
            handlers = handlers_of(*owners, body_bytes_max=body_bytes_max)
        except ValueError as problem:
            raise PluginError(f"broker services do not go together: {problem}") from problem
        handlers = {**refusals_of_missing(self._state.plugins), **handlers}
        saves = {Saved.TABLES: self._keeper.save_tables, Saved.PROGRESS: self._save_progress}
        found: Mapping[int, Handler] = self._replication.watch(saved_before_answers(handlers, saves))
        for part in self._parts:
            found, self._state.frame_path = part.around(found, self._state.frame_path)
        return audited(found)

    async def start(self) -> None:
        """Load, listen, register with the name servers.

        Raises `OSError` when an address cannot be used, `StoreError` when saved tables cannot be read, and
        `PluginError` when a service fails; the broker is stopped then. A name server that is away does not
        stop the start.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        settings = self._settings
        self._keeper.load()
        self._tell_of_missing()
        self._store.change(self._state.live.store)
        await self._keeper.save_tables()
        await self._correct_progress()
        self._store.start()
        for dispatcher in self._dispatchers:
            self._store.followers.add(dispatcher, settings.name)
        for part in self._parts:
            await _start_part(part)
        await self._save_corrections()
        self._keeper.make(TOLD_OF)
        port = await self._listeners.start(settings.host, settings.port)
        self._identity.settle(port)
        if settings.vip_port and settings.port > 2:
            await self._listeners.start_another(settings.host, settings.port - 2)
        self._start_timers()
        self._keeper.on_saved = self._tables_saved
        await self._registration.start()
        log.info("broker started", name=settings.name, address=self.address)

    def _tell_of_missing(self) -> None:
        if not self._sections.is_slave:  # it copies its master's
            store = self._store
            held = {
                place: store.queues.max_offset(*place) - store.queues.min_offset(*place)
                for place in store.queues
            }
            tell_of_missing(self._keeper.missing, self._state.directory / "config", held)

    async def _correct_progress(self) -> None:
        """Let no group stand behind the end of a queue, and save that before a message is stored there."""
        state, store = self._state, self._store
        behind = state.offsets.keep_within(store.queues.min_offset, store.queues.next_offset)
        if behind:
            log.warning(
                "groups stood behind messages that a crash took; they go on at the ends of their queues",
                offsets=len(behind), first=behind[:_CORRECTIONS_TOLD]
            )  # fmt: skip
        await self._save_corrections()

    async def _save_progress(self) -> bool:
        """Save how far groups are; whether it is on disk, as is what it speaks of."""
        return await self._keeper.save_rest(self._store.confirming.flush_log)

    async def _save_corrections(self) -> None:
        """Save what progress was corrected to. Raises `StoreError` when that cannot be."""
        if not await self._save_progress():
            raise StoreError(
                f"corrected progress cannot be saved below {self._state.directory / 'config'}: see the log;"
                " free some space or mend the disk"
            )

    def _start_timers(self) -> None:
        clock = self._clock
        save = self._settings.offsets_save_interval_ms / 1000
        self._timers = [
            Every(clock, save, self._save, name="configuration"),
            Every(clock, SAMPLE_SECONDS, self._state.counts.sample_in_turns, name="statistics"),
        ]
        for part in self._parts:
            timers = [Every(clock, *each[:2], name=each.name) for each in part.periodic()]
            self._timers += timers
            self._service_timers += timers if part in self._services else []

    async def _quiesce(self, handlers: Mapping[int, Handler]) -> None:
        """Take no more messages, and write none: what the log holds then is all until the stop.

        `handlers`: in place of those of the same requests.
        """
        self._listeners.replace(audited(handlers))
        for timer in self._service_timers:
            timer.stop()
        await self._stop_parts(self._services)
        self._quiet = True

    async def _stop_parts(self, parts: Sequence[BrokerService]) -> None:
        for part in reversed(parts):
            try:
                await part.stop()
            except Exception:  # isolation boundary: the rest is to stop in good order
                log.exception("service failed to stop", service=hook_name(part))

    async def stop(self, *, leave: bool = True) -> None:
        """Leave the name servers, answer what waits, save everything, close the store.

        `leave`: without it name servers are not told, as the broker is about to come again.
        """
        for timer in self._timers:
            timer.stop()
        self._keeper.on_saved = lambda: None
        if leave:
            await self._registration.stop()
        self._registration.cancel()
        for answer in notified(self._parts, "answer_waiting"):
            answer()
        await self._keeper.save_tables()  # answers wait for that, and are to leave
        await self._listeners.stop()
        # Copies go first, so that nobody waits for what is not sent any more.
        copying = self._replication.parts
        stopped = [*copying, *(self._services if self._quiet else [])]
        await self._stop_parts(copying)
        await self._stop_parts([part for part in self._parts if part not in stopped])
        await self._client.close()
        await self._save()
        self._keeper.close()
        await self._store.stop()
        log.info("broker stopped", name=self._settings.name)

    async def abandon(self) -> None:
        """Stop as a killed process would: nothing is saved or flushed, no name server notified. For tests."""
        for timer in self._timers:
            timer.stop()
        for part in self._parts:
            part.abandon()
        self._registration.cancel()
        self._keeper.close()
        self._store.abandon()
        await self._listeners.stop()
        await self._client.close()

    async def register(self) -> None:
        """Tell the name servers of all topics now, and wait until they know."""
        await self._registration.announce()

    async def _save(self) -> None:
        # Progress may speak of messages in topics that were made for them.
        await self._keeper.save_tables()
        await self._save_progress()

    def _end_turn(self) -> asyncio.Future[bool] | None:
        """The answers to one read of a connection leave when what they say of topics and groups is saved.

        Queues and index follow in the loop's next turn, while the answers are on their way. What the loop has
        read of other connections by now is served before that, and does not see these messages yet; pulls
        that are held are answered as the messages arrive.
        """
        if self._store.dispatch.is_due:
            self._store.dispatch.soon()
        self._replication.push()
        return self._keeper.end_turn()

    def _tables_saved(self) -> None:
        if not self._registration.is_current:
            self._registration.topics_changed()

    def counters(self) -> dict[str, str]:
        """How often periodic work failed, and whoever is told of arriving messages."""
        failed = self._store.failures + sum(timer.failures.total for timer in self._timers)
        own = {"taskFailures": str(failed), "arrivalFailures": str(self._arrival_failures.total)}
        for part in self._replication.parts:
            own |= part.counters()
        return own

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: list[int]) -> None:
        for follow in self._followers_by_topic.get(topic, self._followers):
            try:
                follow(topic, queue_id, max_offset, codes)
            except Exception as problem:  # isolation boundary: others wait for the same messages
                if self._arrival_failures.note(problem):
                    log.exception(
                        "whoever was told of a message failed",
                        service=hook_name(getattr(follow, "__self__", follow)), topic=topic, queue=queue_id,
                    )  # fmt: skip

    def _connection_closed(self, peer: Peer) -> None:
        for notify in self._connection_ends:
            notify(peer)


def _role_of(sections: BrokerSections, plugins: PluginManager) -> GroupRole:
    """The role that `sections` name. Raises `PluginError` where its plugin is not installed."""
    role: BrokerRole = plugins.create("broker_role", sections.replication.plugin)
    found: GroupRole = role.group_role(sections)
    return found


async def _start_part(part: BrokerService) -> None:
    try:
        await part.start()
    except (MqframeError, OSError):
        raise
    except Exception as problem:
        raise PluginError(
            f"broker service {hook_name(part)} cannot start: {type(problem).__name__}: {problem}"
        ) from problem
