"""A server that remembers what it was sent. Its script answers every request well, and keeps
connections as HTTP wants it.

All that came is in `connections`, each with its peer, the time it was accepted, and its requests.
"""

import threading

from support.scripted import Scripted, answer

BACKLOG = 1024


def ok(request):
    """The good answer to it."""
    octets = answer(fields="Connection: keep-alive\r\n" if request.version == "HTTP/1.0" else "")
    return octets.removesuffix(b"Ok") if request.method == "HEAD" else octets


class Connection:
    """What came on one connection."""

    def __init__(self, conversation):
        self.peer = conversation.peer
        self.at_s = conversation.at_s
        self.requests = []


class Recorder:
    """Listens at once. `gather` requests of a connection are awaited before any is answered, after
    a delay."""

    def __init__(self, address=("127.0.0.1", 0), delay_s=0, gather=1):
        self.delay_s, self.gather = delay_s, gather
        self.connections = []
        self.lock = threading.Lock()
        self.server = Scripted(self._talk, address, backlog=BACKLOG)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.server.__exit__(*failure)

    @property
    def port(self):
        return self.server.port

    def url(self, path="/"):
        return self.server.url(path)

    @property
    def requests(self):
        """All requests, by the time they came."""
        with self.lock:
            return sorted((request for connection in self.connections
                           for request in connection.requests), key=lambda request: request.at_s)

    def _talk(self, conversation):
        connection, waiting = Connection(conversation), []
        with self.lock:
            self.connections.append(connection)
        for request in conversation.requests():
            with self.lock:
                connection.requests.append(request)
            waiting.append(request)
            if len(waiting) < self.gather:
                continue
            conversation.wait(self.delay_s)
            conversation.send(b"".join(ok(each) for each in waiting))
            if not all(each.keeps for each in waiting):
                return
            waiting.clear()
