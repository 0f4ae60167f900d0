"""Fixtures of every test: servers that are started on free ports and end well."""

import os

import pytest

from support.server import Servers

WIRE_FILE_TIME_S = 1234567890  # Fri, 13 Feb 2009 23:31:30 GMT


@pytest.fixture(scope="session")
def wire_file(tmp_path_factory):
    """The file that wire_target serves at "/"."""
    path = tmp_path_factory.mktemp("wire") / "index.html"
    path.write_bytes(b"Hello, world\r\n")
    os.utime(path, (WIRE_FILE_TIME_S, WIRE_FILE_TIME_S))
    return path


@pytest.fixture
def servers(wire_file):
    """Servers of one test."""
    started = Servers(wire_file)
    yield started
    started.stop_all()


@pytest.fixture(scope="module")
def module_servers(wire_file):
    """Servers that the tests of a file share."""
    started = Servers(wire_file)
    yield started
    started.stop_all()


@pytest.fixture(scope="module")
def demo(module_servers):
    """The demo app with two workers, shared by the tests of a file."""
    return module_servers.demo("--workers", "2")


@pytest.fixture(scope="module")
def wire(module_servers):
    """wire_target with its default limits, shared by the tests of a file."""
    return module_servers.wire(workers=2)
