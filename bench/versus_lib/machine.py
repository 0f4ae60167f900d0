"""What we run on: programs, Debian packages, free ports, limits, and what else uses the cores.

Knows nothing of servers or cases. It installs packages, which is the only lasting thing it does.
"""

import os
import platform
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Unavailable(Exception):
    """Something is missing or does not start; the text says what. The run goes on without it."""


def find_program(name):
    """The path of a program, also of one that only root has on its path, or None."""
    return shutil.which(name, path=SEARCH_PATH)


def install_packages(packages, say):
    """Installs Debian packages one by one, so that one that fails does not take the others along.

    Returns nothing: whoever needs a package looks for what it brings.
    """
    if not packages:
        return
    if find_program("apt-get") is None:
        say(f"cannot install {', '.join(packages)}: there is no apt-get here")
        return
    root = []
    if os.geteuid() != 0:
        if find_program("sudo") is None:
            say(f"cannot install {', '.join(packages)}: neither root nor sudo")
            return
        root = ["sudo"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    say("apt-get update")
    subprocess.run([*apt, "update"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for package in packages:
        say(f"apt-get install {package}")
        done = subprocess.run([*apt, "install", "-y", "--no-install-recommends", package],
                              capture_output=True, text=True)
        if done.returncode != 0:
            say(f"{package} was not installed: {last_line(done.stderr)}")


def compile_c(source, target, *libraries):
    """Compiles one C file; raises Unavailable with the compiler's first complaint."""
    compiler = find_program("cc")
    if compiler is None:
        raise Unavailable("there is no C compiler (cc)")
    command = [compiler, "-std=gnu17", "-O2", "-o", str(target), str(source), *libraries]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        complaints = [line for line in done.stderr.splitlines() if "error" in line]
        raise Unavailable(f"{source.name} does not compile: {(complaints or ['no reason'])[0]}")


def make_certificate(path):
    """Writes a key of ECDSA P-256 and a certificate for 127.0.0.1 that nobody vouches for."""
    openssl = find_program("openssl")
    if openssl is None:
        raise Unavailable("openssl is not installed (Debian package openssl)")
    done = subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                           "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                           "-keyout", f"{path}.key", "-out", f"{path}.crt"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"openssl made no certificate: {last_line(done.stderr)}")
    path.write_text("".join(Path(f"{path}.{part}").read_text() for part in ("crt", "key")))


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def raise_descriptor_limit():
    """Lifts the soft limit to the hard one, for us and all we start; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def busy_seconds(cpus):
    """CPU seconds that anything at all has used on these cores since boot (ticks of 10 ms)."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
            ticks += user + nice + system + irq + softirq
    return ticks / CLOCK_TICKS_PER_SECOND


def describe():
    """Date, kernel and hardware, as they go into the JSON file and above the table."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Model", "Processor")):
            model = line.partition(":")[2].strip()
            break
    huge_pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": os.getloadavg(),
        "descriptors_max": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "transparent_huge_pages": huge_pages.read_text().strip() if huge_pages.exists() else "none",
        "python": platform.python_version(),
    }
