"""Servers that are slow, or fail, for one known reason each. Run as a program: `cause.py REASON [NUMBER]...`
prints its port and serves until its stdin ends, as a process of its own: the probe is to look at it.
"""

import contextlib
import os
import resource
import socket
import sys
import threading
import time

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOk"


def listen(backlog):
    listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
    print(listener.getsockname()[1], flush=True)
    return listener


def requests(connection):
    """Yields once for each request without a body, until the client closes."""
    octets = b""
    while True:
        head, end, rest = octets.partition(b"\r\n\r\n")
        if end:
            octets = rest
            yield head
            continue
        try:
            more = connection.recv(65536)
        except ConnectionError:
            return
        if not more:
            return
        octets += more


def serve(connection, before_answer=lambda: None):
    with connection, contextlib.suppress(ConnectionError):
        for _ in requests(connection):
            before_answer()
            connection.sendall(OK)


def serve_each(listener, work=serve):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=work, args=(connection,), daemon=True).start()


# ---- reasons -------------------------------------------------------------------------------------

def good():
    serve_each(listen(1024))


def accepts_late(backlog, ms):
    """Takes nothing for a while, and then everything."""
    listener = listen(int(backlog))
    time.sleep(int(ms) / 1000)
    serve_each(listener)


def pool(size, ms):
    """Only so many requests at a time are worked on, for so long each."""
    places = threading.Semaphore(int(size))

    def work():
        with places:
            time.sleep(int(ms) / 1000)

    serve_each(listen(1024), lambda connection: serve(connection, work))


def few_descriptors(limit):
    """Can open only so many, and goes on when accept() fails."""
    listener = listen(1024)
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(limit), int(limit)))
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            time.sleep(0.005)
            continue
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def closes_idle(answers):
    """Gives so many answers on a connection and then closes it, when the next request is under way."""
    def work(connection):
        with connection:
            for number, _ in enumerate(requests(connection)):
                if number == int(answers):
                    return
                connection.sendall(OK)

    serve_each(listen(1024), work)


def closes_each():
    """Closes after every answer, without a word."""
    def work(connection):
        with connection:
            for _ in requests(connection):
                connection.sendall(OK)
                return

    serve_each(listen(1024), work)


def computes(us):
    """Every answer costs so much CPU time, of one thread."""
    def work():
        until = time.thread_time() + int(us) / 1e6
        while time.thread_time() < until:
            pass

    serve_each(listen(1024), lambda connection: serve(connection, work))


def silent():
    serve_each(listen(1024), lambda connection: list(requests(connection)))


def pauses(after_ms, ms):
    """Stops altogether, once, for so long."""
    resume = threading.Event()
    resume.set()

    def pause():
        time.sleep(int(after_ms) / 1000)
        resume.clear()
        time.sleep(int(ms) / 1000)
        resume.set()

    def work():
        time.sleep(0.001)
        resume.wait()

    threading.Thread(target=pause, daemon=True).start()
    serve_each(listen(1024), lambda connection: serve(connection, work))


def main(reason, *numbers):
    threading.Thread(target=globals()[reason], args=numbers, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
