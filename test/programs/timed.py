# SPDX-License-Identifier: Apache-2.0
"""A program that knows where its time goes: timed.py WAYS... Prints {"function": seconds} as JSON, measured around each part;
with "steps" marks three steps; with "fork" a child does the same in another process, told on a line of its own."""
import hashlib
import json
import os
import sys
import threading
import time

PARTS = {}
SECONDS = 0.7


def timed(part):
    before = time.perf_counter()
    part(before + SECONDS)
    PARTS[part.__name__] = time.perf_counter() - before


def pure(until):
    total = 0
    while time.perf_counter() < until:
        total += len([number for number in range(50)])


def calls(until):
    def inner(number):
        return number + 1
    while time.perf_counter() < until:
        for number in range(50):
            inner(number)


def numbers(until):
    while time.perf_counter() < until:
        yield from range(100)


def generator(until):
    for _ in numbers(until):
        pass


def native(until):
    data = b"x" * 1000000
    while time.perf_counter() < until:
        hashlib.sha256(data).digest()


def waiting(until):
    time.sleep(until - time.perf_counter())


def deep(until, depth=90):
    if depth:
        deep(until, depth - 1)
    else:
        pure(until)


def made_and_dropped(until):
    while time.perf_counter() < until:
        words = "def short():\n    return sum(range(200))\nfor _ in range(20):\n    short()\n"
        exec(compile(words, "<made>", "exec"), {})  # its code objects die each time


def all_parts():
    for part in (pure, calls, generator, native, waiting, deep, made_and_dropped):
        timed(part)


def main():
    ways = sys.argv[1:]
    if "joined" in ways:  # from Python 3.12 on whoever forks with a second thread is warned
        thread = threading.Thread(target=time.sleep, args=(0.05,))
        thread.start()
        thread.join()
        for _ in range(3):
            time.sleep(0.05)
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
        return
    if "alone" not in ways:
        asleep = threading.Event()
        threading.Thread(target=asleep.wait, name="asleep", daemon=True).start()
    if "steps" in ways:
        import tfprof
        for number in (1, 2, 3):
            tfprof.step(number)
            timed([waiting, pure, native][number - 1])
        tfprof.step(4)
    elif "fork" in ways:
        child = os.fork()
        if not child:
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        timed(generator)
        timed(waiting)
        if not child:
            print(json.dumps(PARTS), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        return
    else:
        all_parts()
    print(json.dumps(PARTS), flush=True)


main()
