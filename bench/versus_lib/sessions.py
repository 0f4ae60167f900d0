"""Clients of whom some have a session, and the proof that the server has counted their visits.

Every other client has a cookie of its own (`rivulet bench --client-headers`); the rest have none and are
given none. The server that has no sessions gets the same requests, so that the difference is what sessions
cost.
"""

import http.client
import random

from .machine import Unavailable

NAME_BYTES = 32
NAME_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def ask(port, path, cookie=None):
    """The response to one request on a connection of its own, and its content."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


class Visitors:
    """Of one server under measurement."""

    def __init__(self, port, clients, has_sessions, path):
        self.port = port
        self.clients = clients
        self.cookies = [self._begin() if has_sessions else self._invent()
                        for _ in range(clients // 2)]
        self.has_sessions = has_sessions
        self.path = path
        path.write_text("".join(f"Cookie: {cookie}\n\n" for cookie in self.cookies))
        self.seen = self._count()

    def _begin(self):
        response, _ = ask(self.port, "/begin")
        cookie = response.headers.get("Set-Cookie")
        if cookie is None:
            raise Unavailable("it has begun no session when it was asked to")
        return cookie.split(";")[0]

    def _invent(self):
        return "sid=" + "".join(random.choices(NAME_LETTERS, k=NAME_BYTES))

    def _count(self):
        """Visits of each session so far, and last of those who have none."""
        sessions = [int(ask(self.port, "/count", cookie)[1]) for cookie in self.cookies
                    if self.has_sessions]
        return [*sessions, int(ask(self.port, "/others")[1])]

    def check(self, run):
        """Notes in the run how far the server's counts are from what the client has had answered. What
        was under way when the client ended may have been counted too."""
        now = self._count()
        new = [after - before for before, after in zip(self.seen, now)]
        self.seen = now
        total = sum(new)
        excess = total - run.requests - self.clients
        run.errors["miscounted"] = max(0, run.requests - total, excess)
        run.errors["never counted"] = sum(visits == 0 for visits in new)
