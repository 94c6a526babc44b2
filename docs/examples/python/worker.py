"""A worker that resizes images, one at a time, until SIGTERM or Ctrl-C:

    DATABASE_URL=postgres://… python3 worker.py resizer-1
"""

import os
import signal
import socket
import sys
import threading

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

GRACE = 30  # how many seconds what runs may take once the worker is to stop
leaving = threading.Event()  # take nothing new
running = {}  # the fence of what runs: the event that tells its handler to stop


class Stopped(Exception):
    """The handler was told to stop, or what it did does not count."""


def resize(connection, parameters, stop):
    """The work. Looks now and then whether to stop. What it writes, it writes in the
    transaction that completes the execution; anything else may happen twice."""
    for _ in range(10 * parameters.get("seconds", 0)):
        if stop.wait(0.1):
            raise Stopped
    image, width = parameters["image"], parameters["width"]
    connection.execute("insert into thumbnail (image, width) values (%s, %s)", (image, width))
    return {"image": image, "bytes": 100 * width}


HANDLERS = {"resize": resize}


def connect():
    return psycopg.connect(
        os.environ["DATABASE_URL"],
        autocommit=True,
        prepare_threshold=None,
        row_factory=namedtuple_row,
    )


def perform(connection, worker, taken):
    started = connection.execute(
        "select * from postrider.start_execution(%s, %s, %s)",
        (taken.execution_id, taken.fence, worker.epoch),
    ).fetchone()
    if started is None:
        return  # cancelled, expired, or somebody else's by now
    held = (started.execution_id, started.fence)
    stop = running[started.fence] = threading.Event()
    # Nobody else tells the handler that its time is over.
    timer = threading.Timer(started.timeout.total_seconds(), stop.set)
    timer.daemon = True
    timer.start()
    try:
        with connection.transaction():
            handler = HANDLERS[started.action]
            result = handler(connection, started.parameters, stop)
            if not connection.execute(
                "select postrider.complete_execution(%s, %s, %s)", (*held, Jsonb(result))
            ).fetchone()[0]:
                raise Stopped  # and roll back
    except Stopped:
        # Cancelled if somebody wanted that; otherwise for the next worker.
        connection.execute("select postrider.release_execution(%s, %s)", held)
    except Exception as error:
        if connection.closed:
            raise  # this process ends, and what it ran is recovered
        is_transient = isinstance(error, (OSError, psycopg.OperationalError))
        connection.execute(
            "select postrider.fail_execution(%s, %s, %s, %s)",
            (
                *held,
                "transient_error" if is_transient else "permanent_error",
                Jsonb({"error": type(error).__name__, "message": str(error)}),
            ),
        )
    finally:
        timer.cancel()
        del running[started.fence]


def keep_alive(worker, left):
    """Heartbeats, on a connection of their own: no handler holds them up."""
    try:
        with connect() as connection:
            while not left.wait(worker.heartbeat_interval.total_seconds()):
                for cancelled in connection.execute(
                    "select * from postrider.worker_heartbeat(%s, %s)",
                    (worker.worker_id, worker.epoch),
                ).fetchall():
                    if stop := running.get(cancelled.fence):
                        stop.set()
    finally:
        # Also when it was taken for lost (55000), or the database is away.
        leaving.set()
        stop_all()


def stop_all():
    for stop in list(running.values()):
        stop.set()


def leave(*_):
    leaving.set()
    timer = threading.Timer(GRACE, stop_all)
    timer.daemon = True
    timer.start()


def main():
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    left = threading.Event()
    with connect() as connection:
        worker = connection.execute(
            "select * from postrider.register_worker(%s, p_capacity => 1, p_host => %s)",
            (sys.argv[1], socket.gethostname()),
        ).fetchone()
        heart = threading.Thread(target=keep_alive, args=(worker, left), daemon=True)
        heart.start()
        print("registered", flush=True)
        while not leaving.is_set():
            taken = connection.execute(
                "select * from postrider.take_executions(%s, 1, '5 seconds', %s)",
                (worker.worker_id, worker.epoch),
            ).fetchone()
            if taken and not leaving.is_set():
                perform(connection, worker, taken)
        left.set()
        heart.join()
        # What it has taken and not started goes back, with no attempt used up.
        if not connection.execute(
            "select postrider.deregister_worker(%s, %s)", (worker.worker_id, worker.epoch)
        ).fetchone()[0]:
            sys.exit("somebody else has the name, or the worker was taken for lost")


main()
