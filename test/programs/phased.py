# SPDX-License-Identifier: Apache-2.0
"""A program whose phases are short: phased.py WAY. Prints {"phase": seconds} as JSON, measured around each.
steps: odd steps wait 30 ms, even ones compute 10 ms. windows: recording is closed for a second, open for 0.2 s, four times. decoys: code
is made (told as waits), runs (as computes) and dies, and code that never runs lies at its place from then on. alone: the only other thread
ends, then a fork, then a second. interpreters: a second one is there for 0.6 s, then none for 0.2 s, four times. ends: for half of the
time a look meets a thread's state that is gone, before all others. closes: all descriptors, after half a second."""
import ctypes
import json
import os
import sys
import threading
import time

import tfprof

PHASES = {"waits": 0.0, "computes": 0.0}


def computes(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def waits(seconds):
    time.sleep(seconds)


def outside(seconds):
    computes(seconds)


def timed(phase, seconds):
    before = time.perf_counter()
    phase(seconds)
    PHASES[phase.__name__] += time.perf_counter() - before


def steps():
    for number in range(1, 121):
        tfprof.step(number)
        timed(*((waits, 0.03) if number % 2 else (computes, 0.01)))
    tfprof.step(121)


def windows():
    for _ in range(4):
        tfprof.stop()
        outside(1.0)
        tfprof.start()
        timed(computes, 0.2)


def made(kind, number):
    name = f"{kind}_{number}"
    return compile(f"def {name}():\n    return sum(range(40))\nfor _ in range(60):\n    {name}()\n", f"<{name}>", "exec")


def decoys():
    until, number, kept = time.perf_counter() + 3, 0, None
    while time.perf_counter() < until:
        began = time.perf_counter()
        code = made("runs", number)
        middle = time.perf_counter()
        exec(code, {})
        del code
        end = time.perf_counter()
        kept = made("never", number)
        PHASES["computes"] += end - middle
        PHASES["waits"] += middle - began + time.perf_counter() - end
        number += 1
    del kept


def alone():
    thread = threading.Thread(target=time.sleep, args=(0.2,))
    thread.start()
    timed(computes, 0.3)
    thread.join()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    outside(1.0)


def interpreters():
    try:
        import _interpreters as module  # from Python 3.13 on
    except ImportError:
        import _xxsubinterpreters as module
    for _ in range(4):
        other = module.create()
        outside(0.6)
        module.destroy(other)
        timed(computes, 0.2)


def closes():
    timed(computes, 0.5)
    os.closerange(3, 100000)
    outside(0.5)


def ends():
    minor, python = sys.version_info[1], ctypes.pythonapi
    python.PyInterpreterState_Head.restype = ctypes.c_void_p
    words = (ctypes.c_uint64 * 10).in_dll(python, "_PyRuntime")
    place = words[9] if minor >= 13 else {11: 16, 12: 72}.get(minor, 8)  # threads.head of PyInterpreterState
    first, gone = ctypes.c_void_p.from_address(python.PyInterpreterState_Head() + place), ctypes.create_string_buffer(4096)
    lives = first.value
    for _ in range(50):
        first.value = ctypes.addressof(gone)
        timed(computes, 0.015)
        first.value = lives
        timed(computes, 0.015)


if sys.argv[1] != "alone":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
{"steps": steps, "windows": windows, "decoys": decoys, "alone": alone, "interpreters": interpreters, "ends": ends, "closes": closes}[sys.argv[1]]()
print(json.dumps(PHASES), flush=True)
