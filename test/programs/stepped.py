# SPDX-License-Identifier: Apache-2.0
"""For each byte s from ASK: each of two threads allocates by call stacks that it never had before, then a byte to DONE. Any other ends it.

    stepped.py ASK DONE
"""
import sys
import threading

TURNS = threading.Barrier(3)
IS_OVER = False
KEPT = []


def call(path):
    """A function of each digit of the path calls that of the next one: few functions, and as many call stacks as one likes."""
    return FUNCTIONS[path % 8](path // 8) if path else bytearray(9000)


FUNCTIONS = [eval("\n" * turn + "lambda path: call(path)") for turn in range(8)]


def work(start):
    path = start
    while True:
        TURNS.wait()
        if IS_OVER:
            return
        for _ in range(40):
            path += 2
            KEPT.append(call(path))
            KEPT[:-50] = []
        TURNS.wait()


threads = [threading.Thread(target=work, args=(start,)) for start in (9, 10)]
for thread in threads:
    thread.start()
print("ready", flush=True)
with open(sys.argv[1], "rb", buffering=0) as ask, open(sys.argv[2], "wb", buffering=0) as done:
    while not IS_OVER:
        IS_OVER = ask.read(1) != b"s"
        TURNS.wait()
        if not IS_OVER:
            TURNS.wait()
            done.write(b"d")
for thread in threads:
    thread.join()
