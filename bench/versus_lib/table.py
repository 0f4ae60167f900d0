"""Results as text: one table per case, then one line per target."""

from . import targets

MARK_ERRORS = "!"
MARK_DISTURBED = "~"
DISTURBED_CORES = 0.10  # other work on the two cores, in cores, above which a row is marked


def render(lines):
    """Columns as wide as their widest cell; the first is text, the others are figures."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        text.append("  " + "   ".join(cells).rstrip())
    return "\n".join(text)


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


def case_table(result):
    case = result.case
    rounds = max([len(row.runs) for row in result.rows], default=0)
    parts = [f"{case.target} {case.name}: {case.title}"]
    parts[0] += f" (median of {rounds}{length_of_run(result)})"
    lines = LINES[case.kind](result)
    kind = "client" if case.compares_clients else "server"
    parts.append(render(lines) if len(lines) > 1 else f"  no {kind} gave a result")
    return "\n".join(parts + notes(result))


def length_of_run(result):
    if result.case.kind == "idle":
        return ""
    return f" × {result.requests} requests" if result.requests else f" × {result.seconds} s"


def name_cell(row):
    marks = MARK_ERRORS if row.marked else ""
    if any(getattr(run, "others_cores", 0) > DISTURBED_CORES for run in row.good_runs):
        marks += MARK_DISTURBED
    return f"{row.name} {marks}".rstrip()


def figures(row):
    """What every load table shows of a row, before what is particular to the case."""
    spent = [run.cpu_us_per_request for run in row.good_runs]
    return [f"{row.median('cpu_us_per_request'):.3f}", f"{min(spent):.3f} … {max(spent):.3f}"]


def reference_of(case):
    """The server that all others are divided by: the floor knows neither TLS nor files nor gzip."""
    if case.kind == "sessions":
        return "without"
    if case.kind == "routes":
        return "1 route"
    return "nginx" if case.tls or case.streams or case.files or case.gzip else "floor"


def load_lines(result):
    reference = reference_of(result.case)
    heading = "rivulet" if result.case.kind in ("sessions", "routes") else "server"
    lines = [[heading, "CPU µs/request", "min … max", f"× {reference}", "requests/s", "RSS",
              "server core"]]
    floor = result.row(reference)
    for row in result.rows:
        if not row.good_runs:
            continue
        ratio = row.ratio_to(floor) if floor else None
        lines.append([name_cell(row), *figures(row), f"{ratio:.3f}" if ratio else "-",
                      f"{row.median('requests_per_second'):,.0f}",
                      megabytes(row.median("rss_bytes")),
                      f"{100 * row.median('server_cores'):.0f} %"])
    return lines


def workers_lines(result):
    lines = [["rivulet with", "CPU µs/request", "min … max", "× one worker", "requests/s", "RSS",
              "server cores", "CPU time by worker"]]
    one = result.row("1 worker")
    for row in result.rows:
        if not row.good_runs:
            continue
        ratio = row.ratio_to(one)
        split = "-"
        if row.name == "2 workers":
            split = ", ".join(" : ".join(f"{100 * share:.1f}"
                                         for share in targets.worker_shares(run))
                              for run in row.good_runs)
        lines.append([name_cell(row), *figures(row), f"{ratio:.3f}" if ratio else "-",
                      f"{row.median('requests_per_second'):,.0f}",
                      megabytes(row.median("rss_bytes")),
                      f"{row.median('server_cores'):.2f}", split])
    return lines


def idle_lines(result):
    lines = [["server", "bytes/connection", "min … max", "anonymous only", "RSS before",
              "RSS after", "connections"]]
    for row in result.rows:
        if not row.good_runs:
            continue
        grown = [run.rss_bytes_per_connection for run in row.good_runs]
        last = row.good_runs[-1]
        lines.append([name_cell(row), f"{row.median('rss_bytes_per_connection'):.0f}",
                      f"{min(grown):.0f} … {max(grown):.0f}",
                      f"{row.median('anonymous_bytes_per_connection'):.0f}",
                      megabytes(last.before["rss"]), megabytes(last.after["rss"]),
                      f"{last.connections:,}"])
    return lines


def big_lines(result):
    lines = [["server", "complete", "GB/s", "CPU s/GB", "min … max", "× nginx", "server core",
              "RSS", "client s/GB"]]
    nginx = result.row("nginx")
    for row in result.rows:
        if not row.good_runs:
            continue
        spent = [run.server_cpu_seconds_per_gigabyte for run in row.good_runs]
        ratio = row.ratio_to(nginx, "server_cpu_seconds_per_gigabyte") if nginx else None
        complete = sum(run.requests for run in row.good_runs)
        lines.append([name_cell(row), f"{complete} of {sum(run.asked for run in row.good_runs)}",
                      f"{row.median('gigabytes_per_second'):.2f}",
                      f"{row.median('server_cpu_seconds_per_gigabyte'):.4f}",
                      f"{min(spent):.4f} … {max(spent):.4f}", f"{ratio:.3f}" if ratio else "-",
                      f"{100 * row.median('server_cores'):.0f} %",
                      megabytes(row.median("rss_bytes")),
                      f"{row.median('client_cpu_seconds_per_gigabyte'):.4f}"])
    return lines


# ---- clients -------------------------------------------------------------------------------------


def compared_clients(result, heading, quantity, form, more):
    """A line for each client: the quantity that is compared, then what `more` says of a row."""
    lines = [["client", heading[0], "min … max", "× wrk", "× ab", *heading[1:], "client core"]]
    for row in result.rows:
        if not row.good_runs:
            continue
        values = [getattr(run, quantity) for run in row.good_runs]
        ratios = [row.ratio_to(other, quantity) if other else None
                  for other in (result.row("wrk"), result.row("ab"))]
        lines.append([name_cell(row), form(row.median(quantity)),
                      f"{form(min(values))} … {form(max(values))}",
                      *[f"{ratio:.3f}" if ratio else "-" for ratio in ratios], *more(row),
                      f"{100 * row.median('client_cores'):.0f} %"])
    return lines


def client_lines(result):
    return compared_clients(
        result, ["requests/CPU s", "CPU µs/request", "requests/s"],
        "requests_per_client_cpu_second", "{:,.0f}".format,
        lambda row: [f"{row.median('client_cpu_us_per_request'):.3f}",
                     f"{row.median('requests_per_second'):,.0f}"])


def bulk_lines(result):
    return compared_clients(
        result, ["GB/CPU s", "CPU s/GB", "GB/s"],
        "gigabytes_per_client_cpu_second", "{:.2f}".format,
        lambda row: [f"{row.median('client_cpu_seconds_per_gigabyte'):.4f}",
                     f"{row.median('gigabytes_per_second'):.2f}"])


def storm_lines(result):
    lines = [["client", "failed", "p50 ms", "p99 ms", "longest ms", "longest of all", "p99/p50",
              "requests/s"]]
    for row in result.rows:
        if not row.good_runs:
            continue
        lines.append([name_cell(row), str(sum(run.not_answered for run in row.good_runs)),
                      f"{row.median('p50_ms'):.0f}", f"{row.median('p99_ms'):.0f}",
                      f"{row.median('longest_ms'):.0f}",
                      f"{max(run.longest_ms for run in row.good_runs):.0f}",
                      f"{row.median('p99_to_p50'):.2f}",
                      f"{row.median('requests_per_second'):,.0f}"])
    return lines


LINES = {"load": load_lines, "sessions": load_lines, "routes": load_lines,
         "workers": workers_lines, "idle": idle_lines, "big": big_lines, "client": client_lines,
         "bulk": bulk_lines, "storm": storm_lines}


# ---- below the table -----------------------------------------------------------------------------


def notes(result):
    """What a reader must know before believing the table."""
    found = [f"nothing was run: {result.missing}"] if result.missing else []
    for row in result.rows:
        if row.missing:
            found.append(f"{row.name} is not in the table: {row.missing}")
        for number, run in enumerate(row.runs, 1):
            if run.failed:
                found.append(f"{MARK_ERRORS} {row.name}, round {number}: {run.failed}")
            elif run.had_errors:
                found.append(f"{MARK_ERRORS} {row.name}, round {number}: {errors_text(run)}")
        if row.gzip_bytes:
            found.append(f"{row.name} makes {row.gzip_bytes:,} bytes of the page")
        if len(row.tried) > 1:
            tried = ", ".join(f"{name} {spent:.2f} µs" for name, spent in row.tried.items())
            found.append(f"{row.name} ran as `{row.variant}` (tried: {tried})")
    if any(MARK_DISTURBED in name_cell(row) for row in result.rows):
        found.append(f"{MARK_DISTURBED} other programs used more than "
                     f"{100 * DISTURBED_CORES:.0f} % of a core during a run")
    if result.asked:
        found.append(f"all clients asked {result.asked.name}, whose response has "
                     f"{result.response_bytes:,} bytes")
    if result.case.kind == "storm" and result.rows:
        found.append("tiscaf under ab -c 20000, as its authors saw it on their machine: "
                     "p50 75 ms, p99 156 ms, longest 10,088 ms")
    if reference_of(result.case) == "floor" and result.case.kind == "load" and not result.missing:
        if result.response_bytes:
            found.append(f"the floor's response has {result.response_bytes} bytes, as rivulet's")
        else:
            found.append("the floor's response has its default length: rivulet's is not known")
    return [f"  {line}" for line in found]


def errors_text(run):
    if hasattr(run, "closed_by_server"):
        return f"{run.closed_by_server} connections were closed by the server"
    found = [f"{count} {name} errors" for name, count in run.errors.items() if count]
    if run.requests < run.asked:
        found.append(f"{run.requests} of {run.asked} requests were answered")
    return ", ".join(found)


def verdict_lines(verdicts):
    names = max(len(verdict.case) for verdict in verdicts)
    outcomes = max(len(verdict.outcome) for verdict in verdicts)
    return "\n".join(f"  {verdict.target}  {verdict.case.ljust(names)}  "
                     f"{verdict.outcome.ljust(outcomes)}  {verdict.because}"
                     for verdict in verdicts)
