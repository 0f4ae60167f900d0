"""Servers that are slow, or fail, for one known reason each. Run as a program, in tests/:
`python3 -m support.cause REASON [NUMBER]...` prints its port and serves until its stdin ends. It is a
process of its own because the probe is to look at it.
"""

import os
import resource
import sys
import threading
import time

from support.scripted import Scripted, answer, answering

OK = answer()
ROOM = 1024  # a listen queue that is long enough


def serve(script, backlog=ROOM, accepts=True):
    server = Scripted(script, backlog=backlog, accepts=accepts)
    print(server.port, flush=True)
    return server


# ---- reasons -------------------------------------------------------------------------------------

def good():
    serve(answering(OK))


def accepts_late(backlog, ms):
    """Takes nothing for a while, and then everything."""
    server = serve(answering(OK), backlog, accepts=False)
    time.sleep(ms / 1000)
    server.accept()


def pool(size, ms):
    """Only so many requests at a time are worked on, for so long each."""
    places = threading.Semaphore(size)

    def work():
        with places:
            time.sleep(ms / 1000)

    serve(answering(OK, work))


def few_descriptors(limit):
    """Can open only so many, and goes on when accept() fails."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    serve(answering(OK))


def closes_idle(answers):
    """Gives so many answers on a connection and then closes it, when the next request is under way."""
    def script(conversation):
        for number, _ in enumerate(conversation.requests()):
            if number == answers:
                return
            conversation.send(OK)

    serve(script)


def closes_each():
    """Closes after every answer, without a word."""
    def script(conversation):
        if conversation.request() is not None:
            conversation.send(OK)

    serve(script)


def computes(us):
    """Every answer costs so much CPU time, of one thread."""
    def work():
        until = time.thread_time() + us / 1e6
        while time.thread_time() < until:
            pass

    serve(answering(OK, work))


def silent():
    serve(lambda conversation: conversation.hold())


def pauses(after_ms, ms):
    """Stops altogether, once, for so long."""
    resume = threading.Event()
    resume.set()

    def work():
        time.sleep(0.001)
        resume.wait()

    serve(answering(OK, work))
    time.sleep(after_ms / 1000)
    resume.clear()
    time.sleep(ms / 1000)
    resume.set()


REASONS = (good, accepts_late, pool, few_descriptors, closes_idle, closes_each, computes, silent,
           pauses)


def main(name, *numbers):
    (reason,) = (reason for reason in REASONS if reason.__name__ == name)
    threading.Thread(target=reason, args=map(int, numbers), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
