"""Cases that compare clients: how they take turns at one server.

The server is started once and asked by all of them, round after round, so that a disturbance of
the machine meets all alike. A storm's server is started afresh for every run: nothing of the last
run's many thousand connections is left then. Results are filled in as they come, so that an
interrupted case leaves what it has.
"""

from . import measure
from .cases import Row
from .clients import Load
from .machine import Unavailable


def contestants(bench, case, result):
    """The clients that can run here; each has a row in any case."""
    clients = []
    for client in bench.clients:
        if case.clients and client.name not in case.clients:
            continue
        row = Row(client.name)
        result.rows.append(row)
        try:
            clients.append((bench.client(client.name), row))
        except Unavailable as problem:
            row.missing = str(problem)
            bench.say(f"  {row.name} is left out: {problem}")
    return clients


def server_of(bench, case):
    """The one that all clients ask; raises Unavailable if it cannot run here."""
    server = bench.server(case.servers[0])
    if case.kind == "storm":
        server = server.with_workers(len(case.server_cpus.split(",")))
        server.name = f"rivulet with {server.name}"
    return server


def start_server(bench, case, result, server):
    """Raises Unavailable if it does not start, or does not answer as the case wants."""
    running = bench.start(server, server.variants(case)[0], case, None)
    try:
        result.response_bytes = measure.response_bytes(running.port, server.path(case),
                                                       case.content_bytes, case.tls)
    except (Unavailable, OSError) as problem:
        running.end()
        raise Unavailable(f"{server.name}: {problem}") from None
    result.asked = Row(server.name)
    result.asked.started(running)
    return running


def run(bench, case, result):
    running = None
    try:
        server = server_of(bench, case)
        clients = contestants(bench, case, result)
        for number in range(bench.rounds):
            for client, row in clients:
                if running is None:
                    running = start_server(bench, case, result, server)
                load = Load.of(case, running.port, server.path(case), result)
                outcome = measure.run_client(client, load, case, running)
                row.command = outcome.command
                row.runs.append(outcome)
                bench.say(f"  round {number + 1}: {row.name}: {said_of(case, outcome)}")
                if case.kind == "storm" or not running.alive():
                    running.end()
                    running = None
    finally:
        if running is not None:
            running.end()


def said_of(case, run):
    if run.failed:
        return run.failed
    if case.kind == "storm":
        return (f"{run.not_answered} failed, p50 {run.p50_ms:.0f} ms, p99 {run.p99_ms:.0f} ms, "
                f"longest {run.longest_ms:.0f} ms, {run.requests_per_second:,.0f} requests/s")
    if case.kind == "bulk":
        return (f"{run.gigabytes_per_client_cpu_second:.2f} GB per client-CPU-second, "
                f"{run.gigabytes_per_second:.2f} GB/s")
    return (f"{run.requests_per_client_cpu_second:,.0f} requests per client-CPU-second, "
            f"{run.requests_per_second:,.0f} requests/s")
