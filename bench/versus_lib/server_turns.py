"""Cases that compare servers: how they take turns under one client.

Every server is started once (for `idle`: afresh for every run), then all take turns, round after
round, so that a disturbance of the machine meets all alike. Results are filled in as they come, so
that an interrupted case leaves what it has.
"""

from . import idle, measure, sessions
from .cases import Row
from .clients import Load
from .machine import Unavailable


def run(bench, case, result):
    if case.kind == "idle":
        run_idle(bench, case, result)
    else:
        run_load(bench, case, result)


def contestants(bench, case):
    if case.kind == "workers":
        return [server.with_workers(workers) for server in bench.servers
                if server.name == "rivulet" for workers in (1, 2)]
    if case.kind == "sessions":
        return [server.counting_visits(has_sessions) for server in bench.servers
                if server.name == "rivulet" for has_sessions in (False, True)]
    if case.kind == "routes":
        return [server.with_routes(count) for server in bench.servers
                if server.name == "rivulet" for count in (1, 1000)]
    if case.gzip:
        return [server.answering_with_a_page() if server.name == "rivulet" else server
                for server in bench.servers if server.name in case.servers]
    return [server for server in bench.servers if not case.servers or server.name in case.servers]


def leave_out(bench, row, problem):
    row.missing = str(problem)
    bench.say(f"  {row.name} is left out: {problem}")


# ---- load ----------------------------------------------------------------------------------------


def rivulet_response_bytes(bench, case):
    """How long rivulet's response is, for the floor to send as much; None if unknown."""
    try:
        running = bench.start(bench.server("rivulet"), "default", case, None)
    except Unavailable:
        return None  # its own row will say why
    running.end()
    return running.response_bytes


def start_contestant(bench, case, result, server, row):
    """Raises Unavailable."""
    server.prepare()
    row.variant, row.tried = bench.choose_variant(server, case, result.response_bytes)
    running = bench.start(server, row.variant, case, result.response_bytes)
    row.started(running)
    if case.kind == "big" or case.gzip:
        try:
            if case.gzip:
                row.gzip_bytes = measure.check_gzip(running.port, server.path(case),
                                                    case.content_bytes)
            else:
                measure.response_bytes(running.port, server.path(case), case.content_bytes,
                                       case.tls)
        except (Unavailable, OSError) as problem:
            running.end()
            raise Unavailable(str(problem)) from None
    return running


def visitors_of(bench, case, server, running):
    """Who visits it, where half of them have sessions; None elsewhere."""
    if case.kind != "sessions":
        return None
    return sessions.Visitors(running.port, case.connections, server.has_sessions,
                             bench.workspace / f"visitors-{running.port}")


def run_once(client, case, server, running, visitors, result):
    load = Load.of(case, running.port, server.path(case), result)
    if visitors is not None:
        load.client_fields = str(visitors.path)
    run = measure.run_client(client, load, case, running)
    if visitors is not None and not run.failed:
        visitors.check(run)
    return run


def run_load(bench, case, result):
    running, visitors = {}, {}
    client = bench.client(case.clients[0])
    try:
        if case.kind not in ("big", "sessions", "routes") and not case.gzip:
            result.response_bytes = rivulet_response_bytes(bench, case)
        servers = contestants(bench, case)
        for server in servers:
            row = Row(server.name)
            result.rows.append(row)
            try:
                running[row.name] = start_contestant(bench, case, result, server, row)
                visitors[row.name] = visitors_of(bench, case, server, running[row.name])
            except Unavailable as problem:
                leave_out(bench, row, problem)
        for number in range(bench.rounds):
            for server, row in zip(servers, result.rows):
                if row.name in running:
                    run = run_once(client, case, server, running[row.name], visitors[row.name],
                                   result)
                    row.runs.append(run)
                    bench.say(f"  round {number + 1}: {row.name}: {outcome(case, run)}")
    finally:
        for server in running.values():
            server.end()


def outcome(case, run):
    if run.failed:
        return run.failed
    if case.kind == "big":
        return (f"{run.requests} of {run.asked}, {run.gigabytes_per_second:.2f} GB/s, "
                f"{run.server_cpu_seconds_per_gigabyte:.3f} s per GB")
    return f"{run.cpu_us_per_request:.3f} µs per request, {run.requests_per_second:,.0f} requests/s"


# ---- idle ----------------------------------------------------------------------------------------


def run_idle(bench, case, result):
    for server in contestants(bench, case):
        row = Row(server.name)
        result.rows.append(row)
        try:
            server.prepare()
            row.variant, row.tried = bench.choose_variant(server, case, None)
        except Unavailable as problem:
            leave_out(bench, row, problem)
    for number in range(bench.rounds):
        for row in result.rows:
            if not row.missing:
                run_idle_once(bench, case, row, number)


def run_idle_once(bench, case, row, number):
    try:
        server = bench.server(row.name)
        running = bench.start(server, row.variant, case, None)
    except Unavailable as problem:
        leave_out(bench, row, problem)
        return
    try:
        row.started(running)
        run = idle.run_idle(running, min(case.connections, server.connections_max), case.tls,
                            case.streams > 0)
    finally:
        running.end()
    row.runs.append(run)
    said = run.failed or f"{run.rss_bytes_per_connection:.0f} bytes per connection"
    bench.say(f"  round {number + 1}: {row.name}: {said}")
