# SPDX-License-Identifier: Apache-2.0
"""A loop without a framework, steps marked by tfprof.py: input_plain.py MODE FILE [STEPS].
reads: the loop reads large files itself; answers: it reads such a pipe itself; server: the same of a socket, beside an idle thread; thread: a thread reads a pipe that is slow, the loop waits for its queue; range: the
wait is a range called input; generator: nothing tells of the wait; healthy: the loop computes; outside: a range marks the step, the wait for input is behind it."""
import os
import queue
import socket
import sys
import threading
import time

import tfprof

MODE, FILE = sys.argv[1], sys.argv[2]
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 10


def compute(rounds):
    return sum(i * i for i in range(rounds))


def read_file():
    descriptor = os.open(FILE, os.O_RDONLY)
    while os.read(descriptor, 1 << 22):
        pass
    os.close(descriptor)


def slow_pipe():
    """A pipe to which another process writes a batch each 60 ms."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        for _ in range(STEPS):
            time.sleep(0.06)
            os.write(writing, b"x" * 1000)
        os._exit(0)
    os.close(writing)
    return reading


def slow_server():
    """The same over the network."""
    listening = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        answering, _ = listening.accept()
        for _ in range(STEPS):
            time.sleep(0.06)
            answering.sendall(b"x" * 1000)
        os._exit(0)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return socket.create_connection(listening.getsockname())


def ask(server):
    return server.recv(1000)


def read_ahead(reading, batches):
    while data := os.read(reading, 1000):
        batches.put(data)
    batches.put(b"")


def waiting():
    for number in range(STEPS):
        time.sleep(0.1)
        yield number


def with_thread():
    batches = queue.Queue()
    threading.Thread(target=read_ahead, args=(slow_pipe(), batches)).start()
    for _ in range(STEPS):
        tfprof.step()
        batches.get()
        compute(2000)


def main():
    if MODE == "thread":
        with_thread()
        return
    answers = slow_pipe() if MODE == "answers" else None
    server = slow_server() if MODE == "server" else None
    for number in waiting() if MODE == "generator" else range(STEPS):
        if MODE == "outside":
            with tfprof.range(f"train_batch {number}"):
                compute(20000)
            with tfprof.range("input"):
                time.sleep(0.05)
            continue
        tfprof.step()
        if MODE == "reads":
            read_file()
        if MODE == "answers":
            os.read(answers, 1000)
        if MODE == "server":
            ask(server)
        if MODE == "range":
            with tfprof.range("input"):
                time.sleep(0.02)
        compute(300000 if MODE == "healthy" else 2000)


main()
