"""Fixtures of every test: servers that are started on free ports and end well."""

import os

import pytest

from support import wire_folder as folder
from support.browser import Browser, install
from support.server import Servers


@pytest.fixture(scope="session")
def wire_folder(tmp_path_factory):
    """The folder that wire_target serves at "/"."""
    return folder.make(tmp_path_factory.mktemp("wire"))


@pytest.fixture
def servers(wire_folder):
    """Servers of one test."""
    started = Servers(wire_folder)
    yield started
    started.stop_all()


@pytest.fixture(scope="module")
def module_servers(wire_folder):
    """Servers that the tests of a file share."""
    started = Servers(wire_folder)
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


@pytest.fixture(scope="session")
def playwright(tmp_path_factory):
    """The modules that drive a browser, installed once for all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    return install(base / "playwright")


@pytest.fixture(scope="module")
def browser(playwright):
    """A real browser, shared by the tests of a file."""
    started = Browser(playwright)
    yield started
    started.close()
