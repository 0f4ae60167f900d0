"""What all cases share: the servers and clients that are there, and how a server is started.

A server with several variants of its configuration runs with the one that is cheapest under this
kind of load: each is tried for a second, and the choice is remembered.
"""

import dataclasses

from . import measure
from .cases import CASES
from .clients import Load
from .machine import Unavailable, free_port

PROBE_SECONDS = 1


class Bench:
    """Of servers and clients there are those that are compared, and all: one that is not compared
    may still be the one that all others meet."""

    def __init__(self, servers, all_servers, clients, all_clients, workspace, rounds,
                 connections_max, say):
        self.servers = servers
        self.clients = clients
        self.workspace = workspace
        self.rounds = rounds
        self.connections_max = connections_max
        self.say = say
        self._all_servers = all_servers
        self._all_clients = all_clients
        self._probed = {}  # (server name, probed_as) -> (variant, tried)

    def server(self, name):
        """Raises Unavailable if it cannot run here."""
        server = next(server for server in self._all_servers if server.name == name)
        server.prepare()
        return server

    def client(self, name):
        """Raises Unavailable if it cannot run here."""
        client = next(client for client in self._all_clients if client.name == name)
        client.prepare()
        return client

    def fitted(self, case):
        """The case with as many connections as the machine allows."""
        if case.connections <= self.connections_max:
            return case
        self.say(f"  only {self.connections_max} connections: that is what `ulimit -n` allows")
        return dataclasses.replace(case, connections=self.connections_max)

    def start(self, server, variant, case, response_bytes):
        port = free_port()
        command = server.command(port, variant, case, response_bytes)
        errors = self.workspace / f"{server.name.replace(' ', '-')}-{port}.err"
        return measure.Running(command, case.server_cpus, port, case, errors)

    def choose_variant(self, server, case, response_bytes):
        """The cheapest of a server's variants under this kind of load."""
        variants = server.variants(case)
        if len(variants) == 1:
            return variants[0], {}
        key = (server.name, case.probed_as)
        if key not in self._probed:
            tried = self._try_variants(server, variants, case, response_bytes)
            best = min(tried, key=tried.get)
            listed = ", ".join(f"{name} {spent:.2f} µs" for name, spent in tried.items())
            self.say(f"  {server.name}: {listed}; taken: {best}")
            self._probed[key] = best, tried
        return self._probed[key]

    def _try_variants(self, server, variants, case, response_bytes):
        probe = next((other for other in CASES
                      if other.probed_as == case.probed_as and other.kind == "load"), case)
        tried, complaint = {}, ""
        for variant in variants:
            try:
                running = self.start(server, variant, probe, response_bytes)
            except Unavailable as problem:
                complaint = str(problem)
                continue
            load = Load(running.port, server.path(probe), probe.connections, PROBE_SECONDS,
                        pipelined=probe.pipelined, close=probe.close, tls=probe.tls,
                        streams=probe.streams)
            run = measure.run_client(self.client(probe.clients[0]), load, probe, running)
            running.end()
            if not run.failed:
                tried[variant] = run.cpu_us_per_request
        if not tried:
            raise Unavailable(complaint or "no variant of its configuration gave a result")
        return tried
