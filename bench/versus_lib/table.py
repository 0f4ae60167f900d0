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
    if case.kind == "idle":
        parts[0] += f" (median of {rounds})"
        lines = idle_lines(result)
    else:
        parts[0] += f" (median of {rounds} × {result.seconds} s)"
        lines = workers_lines(result) if case.kind == "workers" else load_lines(result)
    parts.append(render(lines) if len(lines) > 1 else "  no server gave a result")
    return "\n".join(parts + notes(result))


def name_cell(row):
    marks = MARK_ERRORS if row.marked else ""
    if any(getattr(run, "others_cores", 0) > DISTURBED_CORES for run in row.good_runs):
        marks += MARK_DISTURBED
    return f"{row.name} {marks}".rstrip()


def figures(row):
    """What every load table shows of a row, before what is particular to the case."""
    spent = [run.cpu_us_per_request for run in row.good_runs]
    return [f"{row.median('cpu_us_per_request'):.3f}", f"{min(spent):.3f} … {max(spent):.3f}"]


def load_lines(result):
    lines = [["server", "CPU µs/request", "min … max", "× floor", "requests/s", "RSS",
              "server core"]]
    floor = result.row("floor")
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


def notes(result):
    """What a reader must know before believing the table."""
    found = []
    for row in result.rows:
        if row.missing:
            found.append(f"{row.name} is not in the table: {row.missing}")
        for number, run in enumerate(row.runs, 1):
            if run.failed:
                found.append(f"{MARK_ERRORS} {row.name}, round {number}: {run.failed}")
            elif run.had_errors:
                found.append(f"{MARK_ERRORS} {row.name}, round {number}: {errors_text(run)}")
        if len(row.tried) > 1:
            tried = ", ".join(f"{name} {spent:.2f} µs" for name, spent in row.tried.items())
            found.append(f"{row.name} ran as `{row.variant}` (tried: {tried})")
    if any(MARK_DISTURBED in name_cell(row) for row in result.rows):
        found.append(f"{MARK_DISTURBED} other programs used more than "
                     f"{100 * DISTURBED_CORES:.0f} % of a core during a run")
    if result.case.kind == "load":
        if result.response_bytes:
            found.append(f"the floor's response has {result.response_bytes} bytes, as rivulet's")
        else:
            found.append("the floor's response has its default length: rivulet's is not known")
    return [f"  {line}" for line in found]


def errors_text(run):
    if hasattr(run, "closed_by_server"):
        return f"{run.closed_by_server} connections were closed by the server"
    return ", ".join(f"{count} {name} errors" for name, count in run.errors.items() if count)


def verdict_lines(verdicts):
    width = max(len(verdict.outcome) for verdict in verdicts)
    return "\n".join(f"  {verdict.target}  {verdict.outcome.ljust(width)}  {verdict.because}"
                     for verdict in verdicts)
