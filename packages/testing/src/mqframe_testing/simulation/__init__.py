"""Servers and clients in one process, on a scripted network and a clock that is moved, from a seed.

    with Simulation(seed=7) as simulation:
        server, shop = simulation.host("server"), simulation.host("shop")
        simulation.run(story(simulation, server, shop))

How it is used: docs/howto/simulate.md.
"""

from mqframe_testing.simulation.clock import HostClock, SimulatedClock
from mqframe_testing.simulation.coordination import FailingCoordination
from mqframe_testing.simulation.host import Host
from mqframe_testing.simulation.loop import SimulatedLoop, Stall
from mqframe_testing.simulation.network import Network
from mqframe_testing.simulation.simulation import Simulation, Stuck
from mqframe_testing.simulation.way import Way

__all__ = [
    "FailingCoordination",
    "Host",
    "HostClock",
    "Network",
    "SimulatedClock",
    "SimulatedLoop",
    "Simulation",
    "Stall",
    "Stuck",
    "Way",
]
