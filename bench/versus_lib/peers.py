"""The servers: how each is found, configured at its best, and started.

A server has one or more *variants* of its best configuration for a load; where there are several,
cases.py tries them and keeps the cheapest. All answer `GET /ok` with the two bytes `Ok`, with one
worker, without logs, and keep connections open for as long as they can be told to. Nothing is
started here: `command()` writes what the server reads into the run's own folder and returns what
to execute.
"""

import os
import re
import subprocess
from pathlib import Path

from .machine import Unavailable, compile_c, find_program, make_certificate

BENCH = Path(__file__).resolve().parent.parent
PROJECT = BENCH.parent
CONNECTIONS_MAX = 19900  # what 20 000 descriptors leave room for
BACKLOG = 4096
PAGE = "/page.html"  # of the cases with gzip
PAGE_BYTES = 20_000


class Server:
    """One row of a table of servers. `workspace` is the run's own folder, with www/ok in it."""

    name = ""
    packages = ()
    connections_max = CONNECTIONS_MAX

    def __init__(self, workspace):
        self.workspace = workspace

    def missing_packages(self):
        return [package for package, program in self.packages if find_program(program) is None]

    def prepare(self):
        """Raises Unavailable if this server cannot run here."""
        for package, program in self.packages:
            if find_program(program) is None:
                raise Unavailable(f"{program} is not installed (Debian package {package})")

    def variants(self, case):
        return ["default"]

    def path(self, case):
        """What clients ask for to get `case.content_bytes`."""
        return "/ok"

    def command(self, port, variant, case, response_bytes):
        raise NotImplementedError

    def version(self):
        raise NotImplementedError

    def certificate(self):
        """A file with a key of ECDSA P-256 and its certificate, the same for all servers."""
        path = self.workspace / "certificate.pem"
        if not path.exists():
            make_certificate(path)
        return path

    def make_file(self, length):
        """Real octets: a hole in a file would be one page of memory, sent again and again."""
        path = self.workspace / "www" / str(length)
        if not path.exists():
            path.write_bytes(b"X" * length)

    def make_page(self):
        """HTML as a program makes it: every line is like the others, and none is the same."""
        path = self.workspace / "www" / PAGE.lstrip("/")
        lines = "".join(
            f'<tr class="row"><td>{i}</td><td>item {i * 2654435761 % 1000003}</td>'
            f'<td><a href="/items/{i * 40503 % 65521}">details</a></td></tr>\n'
            for i in range(400))
        path.write_bytes(lines.encode()[:PAGE_BYTES])
        return path

    def write(self, port, text):
        path = self.workspace / f"{self.name}-{port}.conf"
        path.write_text(text)
        return str(path)


def first_version(command, pattern=r"\d+(\.\d+)+\S*"):
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(pattern, done.stdout + done.stderr)
    return found.group(0) if found else "unknown"


class Floor(Server):
    """bench/floor.c, the least a server can do: the row all others are divided by."""

    name = "floor"
    source = BENCH / "floor.c"
    program = PROJECT / "build/release/floor"

    def prepare(self):
        if self.program.exists() and self.program.stat().st_mtime >= self.source.stat().st_mtime:
            return
        self.program = self.workspace / "floor"
        compile_c(self.source, self.program)

    def command(self, port, variant, case, response_bytes):
        command = [str(self.program), "--port", str(port)]
        if response_bytes is not None:
            command += ["--response-bytes", str(response_bytes)]
        if case.pipelined > 1:
            command += ["--pipelined", str(case.pipelined)]
        if case.close:
            command += ["--close"]
        if case.compares_clients:
            command += ["--keep-alive"]
        return command

    def version(self):
        return "of this checkout"


class Rivulet(Server):
    name = "rivulet"

    def __init__(self, workspace, program, workers=1):
        super().__init__(workspace)
        self.program = Path(program)
        self.workers = workers

    def with_workers(self, workers):
        twin = Rivulet(self.workspace, self.program, workers)
        twin.name = f"{workers} worker{'s' if workers > 1 else ''}"
        return twin

    def answering_with_a_page(self):
        return Page(self.workspace, self.program)

    def counting_visits(self, has_sessions):
        return Visits(self.workspace, self.program, has_sessions)

    def with_routes(self, count):
        return Routes(self.workspace, self.program, count)

    def prepare(self):
        if not self.program.exists():
            raise Unavailable(f"{os.path.relpath(self.program)} is not built")

    def path(self, case):
        if case.files:
            return f"/{case.content_bytes}"
        return "/ok" if case.content_bytes == 2 else f"/sizer?size={case.content_bytes}"

    def command(self, port, variant, case, response_bytes):
        listen = ["--listen", f"127.0.0.1:{port}"]
        if case.tls:
            listen = ["--tls-listen", f"127.0.0.1:{port}", "--tls-cert", str(self.certificate()),
                      "--tls-key", str(self.certificate())]
        what = "--demo"
        if case.files:
            self.make_file(case.content_bytes)
            what = str(self.workspace / "www")
        return [str(self.program), "serve", what, *listen, "--workers", str(self.workers)]

    def version(self):
        return first_version([str(self.program), "--version"])


class OnLibrary(Server):
    """A program of bench/peers/ on rivulet's library."""

    name = "rivulet"
    source = ""  # without its .c

    def __init__(self, workspace, rivulet_program):
        super().__init__(workspace)
        self.library = Path(rivulet_program).parent / "librivulet.so"

    def prepare(self):
        if not self.library.exists():
            raise Unavailable(f"{os.path.relpath(self.library)} is not built")
        compile_c(BENCH / f"peers/{self.source}.c", self.workspace / self.source,
                  f"-I{PROJECT / 'include'}", str(self.library),
                  f"-Wl,-rpath,{self.library.parent.resolve()}")

    def arguments(self):
        return []

    def command(self, port, variant, case, response_bytes):
        return [str(self.workspace / self.source), str(port), *self.arguments()]

    def version(self):
        return "of this checkout"


class Page(OnLibrary):
    """Answers with a page and compresses it."""

    source = "page"

    def path(self, case):
        return PAGE

    def arguments(self):
        return [str(self.make_page())]


class Visits(OnLibrary):
    """With sessions and without."""

    source = "visits"

    def __init__(self, workspace, rivulet_program, has_sessions):
        super().__init__(workspace, rivulet_program)
        self.has_sessions = has_sessions
        self.name = "with sessions" if has_sessions else "without"

    def arguments(self):
        return ["--sessions"] if self.has_sessions else []


class Routes(OnLibrary):
    """With as many routes as it is told."""

    source = "routes"

    def __init__(self, workspace, rivulet_program, count):
        super().__init__(workspace, rivulet_program)
        self.count = count
        self.name = f"{count} route{'s' if count > 1 else ''}"

    def arguments(self):
        return [str(self.count)]


class Nginx(Server):
    name = "nginx"
    packages = (("nginx", "nginx"),)

    def variants(self, case):
        if case.files:
            return ["sendfile, open files kept"]
        if case.gzip:
            return ["gzip, open files kept"]
        if case.content_bytes > 2:
            return ["sendfile"]
        if case.tls and case.close:
            return ["return, two tickets", "return, one ticket"]  # rivulet and h2o give one
        return ["return", "return deferred"] if case.close else ["return", "file"]

    def path(self, case):
        if case.gzip:
            return PAGE
        return "/ok" if case.content_bytes == 2 else f"/{case.content_bytes}"

    def command(self, port, variant, case, response_bytes):
        if case.gzip:
            self.make_page()
        elif case.content_bytes > 2:
            self.make_file(case.content_bytes)
        answer = 'return 200 "Ok";'
        if variant == "file":
            answer = (f"root {self.workspace}/www; sendfile off; "
                      "open_file_cache max=16 inactive=1h; open_file_cache_valid 1h;")
        compressed = "gzip on; gzip_comp_level 1; gzip_types text/plain;" if case.gzip else ""
        kept = ("open_file_cache max=16 inactive=1h; open_file_cache_valid 1h;"
                if "kept" in variant else "")
        deferred = " deferred" if "deferred" in variant else ""
        secure = ""
        if case.streams:
            deferred += " http2"
        if case.tls:
            deferred += " ssl"
            secure = f"""
        ssl_certificate {self.certificate()};
        ssl_certificate_key {self.certificate()};
        ssl_protocols TLSv1.3;"""
        if "one ticket" in variant:
            secure += "\n        ssl_conf_command NumTickets 1;"
        config = self.write(port, f"""
daemon off;
worker_processes 1;
worker_rlimit_nofile {CONNECTIONS_MAX + 100};
pid {self.workspace}/nginx-{port}.pid;
error_log /dev/null crit;
events {{
    use epoll;
    worker_connections {CONNECTIONS_MAX};
    multi_accept on;
    accept_mutex off;
}}
http {{
    access_log off;
    client_body_temp_path {self.workspace}/nginx-{port}-body;
    proxy_temp_path {self.workspace}/nginx-{port}-proxy;
    fastcgi_temp_path {self.workspace}/nginx-{port}-fastcgi;
    uwsgi_temp_path {self.workspace}/nginx-{port}-uwsgi;
    scgi_temp_path {self.workspace}/nginx-{port}-scgi;
    keepalive_requests 1000000000;
    keepalive_timeout 10h;
    client_header_timeout 10h;
    send_timeout 10h;
    default_type text/plain;
    etag off;
    server {{
        listen 127.0.0.1:{port} backlog={BACKLOG}{deferred};{secure}
        location = /ok {{ {answer} }}
        location / {{ root {self.workspace}/www; sendfile on; tcp_nopush on; {kept} {compressed} }}
    }}
}}
""")
        return [find_program("nginx"), "-e", "/dev/null", "-c", config]

    def version(self):
        return first_version([find_program("nginx"), "-v"])


class Lighttpd(Server):
    """It takes no more connections than half its descriptors."""

    name = "lighttpd"
    packages = (("lighttpd", "lighttpd"),)
    connections_max = CONNECTIONS_MAX // 2

    def variants(self, case):
        return ["writev", "writev deferred"] if case.close else ["writev", "sendfile"]

    def command(self, port, variant, case, response_bytes):
        # 65535 is the most that its limits hold: after as many requests a connection is closed.
        config = self.write(port, f"""
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{self.workspace}/www"
server.errorlog = "/dev/null"
server.event-handler = "linux-sysepoll"
server.network-backend = "{variant.split()[0]}"
server.defer-accept = {1 if "deferred" in variant else 0}
server.listen-backlog = {BACKLOG}
server.max-fds = {CONNECTIONS_MAX + 100}
server.max-connections = {CONNECTIONS_MAX}
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 65535
server.max-read-idle = 65535
server.max-write-idle = 65535
static-file.etags = "disable"
mimetype.assign = ( "" => "text/plain" )
""")
        return [find_program("lighttpd"), "-D", "-f", config]

    def version(self):
        return first_version([find_program("lighttpd"), "-v"])


class H2o(Server):
    """Its listeners defer accepting by themselves, so that is no variant."""

    name = "h2o"
    packages = (("h2o", "h2o"),)

    def variants(self, case):
        return ["file"] if case.gzip else ["file", "mruby"]

    def path(self, case):
        return PAGE if case.gzip else "/ok"

    def command(self, port, variant, case, response_bytes):
        page = ""
        if case.gzip:
            page = f"""
      {PAGE}:
        file.file: {self.make_page()}
        compress:
          gzip: 1"""
        if variant == "file":
            handler = f"file.file: {self.workspace}/www/ok"
        else:
            handler = ('mruby.handler: Proc.new { |env| [200, {"content-type" => "text/plain", '
                       '"content-length" => "2"}, ["Ok"]] }')
        user = "user: root" if os.geteuid() == 0 else ""
        secure = ""
        if case.tls:
            secure = f"""
  ssl:
    certificate-file: {self.certificate()}
    key-file: {self.certificate()}"""
        config = self.write(port, f"""
listen:
  host: 127.0.0.1
  port: {port}{secure}
num-threads: 1
max-connections: {CONNECTIONS_MAX}
http1-request-timeout: 36000
error-log: /dev/null
pid-file: {self.workspace}/h2o-{port}.pid
file.etag: OFF
file.mime.setdefaulttype: text/plain
{user}
hosts:
  default:
    paths:
      /ok:
        {handler}{page}
""")
        return [find_program("h2o"), "-c", config]

    def version(self):
        return first_version([find_program("h2o"), "-v"])


class Microhttpd(Server):
    """A library like ours, in a program of bench/peers/."""

    name = "microhttpd"
    header = Path("/usr/include/microhttpd.h")

    def missing_packages(self):
        return [] if self.header.exists() else ["libmicrohttpd-dev"]

    def prepare(self):
        if not self.header.exists():
            raise Unavailable("microhttpd.h is not installed (Debian package libmicrohttpd-dev)")
        compile_c(BENCH / "peers/microhttpd.c", self.workspace / "microhttpd", "-lmicrohttpd")

    def variants(self, case):
        return ["plain", "deferred"] if case.close else ["plain"]

    def command(self, port, variant, case, response_bytes):
        deferred = ["--deferred"] if variant == "deferred" else []
        return [str(self.workspace / "microhttpd"), str(port), *deferred]

    def version(self):
        return first_version([str(self.workspace / "microhttpd"), "--version"])


PEER_NAMES = ["nginx", "lighttpd", "h2o", "microhttpd"]
NAMES = ["floor", "rivulet", *PEER_NAMES]


def all_servers(workspace, rivulet_program):
    """In the order of the table."""
    return [Floor(workspace), Rivulet(workspace, rivulet_program), Nginx(workspace),
            Lighttpd(workspace), H2o(workspace), Microhttpd(workspace)]
