"""Programs of examples/ as servers of the tests: on a free port, and ended well."""

import os
import socket
import subprocess
import time

from support.server import program, sanitizer_environment


class Example:
    """A running one; `arguments` are what it takes behind its address."""

    def __init__(self, name, *arguments, preset="asan"):
        self.name = name
        self.arguments = arguments
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [program(f"examples/{name}", preset), f"127.0.0.1:{self.port}",
             *[str(argument) for argument in arguments]],
            env=sanitizer_environment(), stderr=subprocess.PIPE)
        self.connect().close()

    def connect(self):
        for _ in range(500):
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=10)
            except ConnectionRefusedError:
                assert self.process.poll() is None, self.process.stderr.read().decode()
                time.sleep(0.02)
        raise AssertionError(f"examples/{self.name} does not listen")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def files(self):
        """What is in the directory that is its argument."""
        return sorted(os.listdir(self.arguments[0]))

    def stop(self):
        self.process.terminate()
        report = self.process.communicate(timeout=30)[1].decode()
        assert self.process.returncode == 0, report
        return report
