"""What a server may keep when its clients have gone."""

import contextlib

from .processes import descriptors, sockets
from .waiting import wait_until

QUIET_DESCRIPTORS = 60  # its own, and the files that the caches of its workers keep open


@contextlib.contextmanager
def nothing_left_behind(server, serves):
    """`serves()` holds before and afterwards; then there are as many sockets as before, and few files."""
    assert serves()
    wait_until(lambda: descriptors(server.pid) < QUIET_DESCRIPTORS, what="a quiet server")
    before = sockets(server.pid)
    yield
    assert serves()
    wait_until(lambda: sockets(server.pid) <= before, 40, "closed sockets")
    wait_until(lambda: descriptors(server.pid) < QUIET_DESCRIPTORS, what="closed files")
