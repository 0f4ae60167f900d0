"""What rivulet has promised, judged from the results of this run.

A verdict is `met`, `missed` or `not judged`, always with the figures behind it. Measures nothing.
"""

from dataclasses import dataclass

from .peers import PEER_NAMES

KEEPALIVE_RATIO_MAX = 1.08
PIPELINED_US_MAX = 0.45
IDLE_BYTES_MAX = 256
MANY_RATIO_MAX = 1.10
WORKERS_RATIO_MAX = 1.10
WORKERS_SHARE_MAX = 1.10  # the busier worker's load, as a multiple of an even share
CLOSE_RATIO_MAX = 0.95
BIG_RATIO_MAX = 1.00
FILE_RATIO_MAX = 1.00
SESSIONS_RATIO_MAX = 1.15
ROUTES_RATIO_MAX = 1.05
TLS_RATIO_MAX = 1.00
HTTP2_IDLE_BYTES_MAX = 16_384
HTTP2_TLS_IDLE_BYTES_MAX = 36_864
HTTP2_US_MAX = 2.0
CLIENT_RATIO_MIN = 1.3
BULK_RATIO_MIN = {"client-100k": 2.5, "client-1m": 4.0}
STORM_P99_TO_P50_MAX = 2.0
STORM_LONGEST_MS_MAX = 1000


@dataclass
class Verdict:
    target: str
    case: str
    outcome: str
    because: str


class NotJudged(Exception):
    pass


def judge(result):
    """The verdict on one case."""
    case = result.case
    if result.missing:
        return Verdict(case.target, case.name, "not judged", result.missing)
    try:
        parts = RULES[case.name](result)
    except NotJudged as why:
        return Verdict(case.target, case.name, "not judged", str(why))
    met = all(ok for ok, _ in parts)
    because = "; ".join(text for _, text in parts)
    if any(row.marked for row in result.rows):
        because += " (with errors in this run, see above)"
    return Verdict(case.target, case.name, "met" if met else "missed", because)


def row_with_result(result, name):
    row = result.row(name)
    if row is None or not row.good_runs:
        raise NotJudged(f"{name} gave no result" if row else f"{name} did not take part")
    return row


def at_most_times(result, name, ratio_max, quantity="cpu_us_per_request"):
    rivulet, other = row_with_result(result, "rivulet"), row_with_result(result, name)
    ratio = rivulet.ratio_to(other, quantity)
    if ratio is None:
        raise NotJudged(f"rivulet and {name} have no round in common")
    how = f" (`{other.variant}`)" if other.tried else ""
    return ratio <= ratio_max, f"{ratio:.3f} × {name}{how}, to be at most {ratio_max:.2f}"


def below_every_peer(result):
    mine = row_with_result(result, "rivulet").median("cpu_us_per_request")
    peers = [row for row in result.rows if row.name in PEER_NAMES and row.good_runs]
    if not peers:
        raise NotJudged("no peer took part")
    best = min(peers, key=lambda row: row.median("cpu_us_per_request"))
    theirs = best.median("cpu_us_per_request")
    absent = [name for name in PEER_NAMES if name not in {row.name for row in peers}]
    text = f"{mine:.3f} µs, to be below the best peer's {theirs:.3f} ({best.name})"
    return mine < theirs, text + (f", without {', '.join(absent)}" if absent else "")


def judge_keepalive(result):
    return [at_most_times(result, "floor", KEEPALIVE_RATIO_MAX), below_every_peer(result)]


def judge_pipelined(result):
    mine = row_with_result(result, "rivulet").median("cpu_us_per_request")
    return [(mine <= PIPELINED_US_MAX, f"{mine:.3f} µs, to be at most {PIPELINED_US_MAX:.2f}"),
            below_every_peer(result)]


def judge_idle(result):
    mine = row_with_result(result, "rivulet").median("rss_bytes_per_connection")
    return [(mine <= IDLE_BYTES_MAX,
             f"{mine:.0f} bytes of RSS per connection, to be at most {IDLE_BYTES_MAX}")]


def judge_many(result):
    return [at_most_times(result, "floor", MANY_RATIO_MAX)]


def worker_shares(run, workers=2):
    """Each worker's part of the CPU time of all workers: the threads that did the work."""
    spent = run.server_cpu_ns_by_thread[:workers]
    return [ns / sum(spent) for ns in spent]


def judge_two_workers(result):
    one, two = row_with_result(result, "1 worker"), row_with_result(result, "2 workers")
    ratio = two.ratio_to(one)
    if ratio is None:
        raise NotJudged("no round in common")
    shares = [worker_shares(run) for run in two.good_runs]
    worst = sorted(2 * share[0] if len(share) == 2 else 2.0 for share in shares)[len(shares) // 2]
    return [(ratio <= WORKERS_RATIO_MAX,
             f"{ratio:.3f} × one worker's CPU per request, to be at most {WORKERS_RATIO_MAX:.2f}"),
            (worst <= WORKERS_SHARE_MAX,
             f"the busier worker has {worst:.3f} × an even share, "
             f"to be at most {WORKERS_SHARE_MAX:.2f}")]


def judge_close(result):
    return [at_most_times(result, "nginx", CLOSE_RATIO_MAX)]


def judge_big(result):
    rivulet = row_with_result(result, "rivulet")
    short = sum(run.not_answered for run in rivulet.good_runs)
    asked = sum(run.asked for run in rivulet.good_runs)
    return [(short == 0 and len(rivulet.good_runs) == len(rivulet.runs),
             f"{asked - short} of {asked} complete"),
            at_most_times(result, "nginx", BIG_RATIO_MAX, "server_cpu_seconds_per_gigabyte")]


def judge_file(result):
    return [at_most_times(result, "nginx", FILE_RATIO_MAX)]


def judge_sessions(result):
    with_them, without = row_with_result(result, "with sessions"), row_with_result(result, "without")
    ratio = with_them.ratio_to(without)
    if ratio is None:
        raise NotJudged("no round in common")
    wrong = sum(run.not_answered for run in with_them.good_runs)
    return [(wrong == 0, f"{wrong} visits miscounted or failed, to be 0"),
            (ratio <= SESSIONS_RATIO_MAX,
             f"{ratio:.3f} × the same without sessions, to be at most {SESSIONS_RATIO_MAX:.2f}")]


def judge_routes(result):
    many, one = row_with_result(result, "1000 routes"), row_with_result(result, "1 route")
    ratio = many.ratio_to(one)
    if ratio is None:
        raise NotJudged("no round in common")
    return [(ratio <= ROUTES_RATIO_MAX,
             f"{ratio:.3f} × one route's, to be at most {ROUTES_RATIO_MAX:.2f}")]


def judge_tls_keepalive(result):
    return [at_most_times(result, name, TLS_RATIO_MAX) for name in ("nginx", "h2o")]


def judge_tls_handshake(result):
    return [at_most_times(result, "nginx", TLS_RATIO_MAX)]


def judge_tls_idle(result):
    return [at_most_times(result, "nginx", TLS_RATIO_MAX, "rss_bytes_per_connection")]


def judge_http2(result):
    mine = row_with_result(result, "rivulet").median("cpu_us_per_request")
    return [(mine <= HTTP2_US_MAX, f"{mine:.3f} µs, to be at most {HTTP2_US_MAX:.1f}")]


def judge_http2_idle(result):
    most = HTTP2_TLS_IDLE_BYTES_MAX if result.case.tls else HTTP2_IDLE_BYTES_MAX
    mine = row_with_result(result, "rivulet").median("rss_bytes_per_connection")
    return [(mine <= most, f"{mine:.0f} bytes of RSS per connection, to be at most {most}")]


# ---- clients -------------------------------------------------------------------------------------


def at_least_times(result, name, ratio_min, quantity, what):
    mine, other = row_with_result(result, "rivulet-bench"), row_with_result(result, name)
    ratio = mine.ratio_to(other, quantity)
    if ratio is None:
        raise NotJudged(f"rivulet-bench and {name} have no round in common")
    return (ratio >= ratio_min,
            f"{ratio:.3f} × {name}'s {what} per client-CPU-second, to be at least {ratio_min:.1f}")


def judge_client(result):
    return [at_least_times(result, name, CLIENT_RATIO_MIN, "requests_per_client_cpu_second",
                           "requests") for name in ("wrk", "ab")]


def judge_against_h2load(result):
    return [at_least_times(result, "h2load", CLIENT_RATIO_MIN, "requests_per_client_cpu_second",
                           "requests")]


def judge_bulk(result):
    return [at_least_times(result, "wrk", BULK_RATIO_MIN[result.case.name],
                           "gigabytes_per_client_cpu_second", "bytes")]


def judge_storm(result):
    row = row_with_result(result, "rivulet-ab")
    lost = sum(run.not_answered for run in row.good_runs)
    ratio, longest = row.median("p99_to_p50"), row.median("longest_ms")
    return [(lost == 0 and len(row.good_runs) == len(row.runs), f"{lost} failed, to be 0"),
            (ratio <= STORM_P99_TO_P50_MAX,
             f"p99 is {ratio:.2f} × p50, to be at most {STORM_P99_TO_P50_MAX:.1f}"),
            (longest < STORM_LONGEST_MS_MAX,
             f"the longest request took {longest:.0f} ms, to be below {STORM_LONGEST_MS_MAX}")]


RULES = {
    "keepalive": judge_keepalive,
    "pipelined": judge_pipelined,
    "idle": judge_idle,
    "many": judge_many,
    "two-workers": judge_two_workers,
    "close": judge_close,
    "big": judge_big,
    "file-14": judge_file,
    "file-100k": judge_file,
    "file-100m": judge_big,
    "gzip": judge_file,
    "sessions": judge_sessions,
    "routes": judge_routes,
    "client": judge_client,
    "client-many": judge_client,
    "client-100k": judge_bulk,
    "client-1m": judge_bulk,
    "storm": judge_storm,
    "tls-keepalive": judge_tls_keepalive,
    "tls-handshake": judge_tls_handshake,
    "tls-big": judge_big,
    "tls-idle": judge_tls_idle,
    "h2": judge_http2,
    "h2-idle": judge_http2_idle,
    "h2-tls-idle": judge_http2_idle,
    "client-tls": judge_against_h2load,
    "client-h2": judge_against_h2load,
    "client-h2-tls": judge_against_h2load,
}
