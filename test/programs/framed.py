# SPDX-License-Identifier: Apache-2.0
"""Allocates blocks of sizes that no other has, and notes for each what the interpreter itself says is on the Python stack at
that moment: PREFIX.<pid> gets one line a block, {"size", "frames": [[function, file, line], ...]}, innermost first.

    framed.py PREFIX COUNT [fork|forkserver|spawn ...]
"""
import asyncio
import functools
import itertools
import json
import multiprocessing
import os
import re
import signal
import sys
import sysconfig
import threading

BASE = 400_000  # bytes: far above what anything else here allocates, so that the sampler takes each
SIZES = itertools.count(BASE)
NOTES = []
os.register_at_fork(after_in_child=NOTES.clear)  # a fork server of Python 3.14 runs this file, and its children begin with its notes


def truth(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def taker():
    """What takes a block from the C library, with no frame of its own, and how many bytes less it is asked for."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return bytearray, 1
    import ctypes  # without the global lock Python's own objects lie in memory that it manages itself
    allocate = ctypes.CDLL(None).malloc
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    return allocate, 0


TAKE, LESS = taker()


def take(size=None):
    size = size or next(SIZES)
    return [NOTES.append({"size": size, "frames": truth(sys._getframe())}), TAKE(size - LESS)][0]


def recursive(depth):
    return recursive(depth - 1) if depth else take()


def generator(depth):
    take()
    yield depth
    if depth:
        yield from generator(depth - 1)
    take()


async def task(depth):
    take()
    await asyncio.sleep(0)
    if depth:
        await asyncio.gather(task(depth - 1), task(0))
    take()


class größe_漢字:
    take()  # in a class body

    def __del__(self):
        take()

    @property
    def wert(self):
        return (take(),
                [take() for _ in range(2)],
                take(
                    None))

    @staticmethod
    def named(call):
        @functools.wraps(call)
        def λ(*words):
            try:
                raise ValueError
            except ValueError:
                take()
            finally:
                call(*words)
        return λ


def called_back():
    sorted([3, 1, 2], key=lambda number: [take(), number][1])
    list(map(größe_漢字.named(lambda _: take()), "ab"))
    re.sub("[ab]", lambda match: [take(), match[0]][1], "xaybz")
    functools.reduce(lambda a, b: [take(), a + b][1], [1, 2, 3])
    größe_漢字().wert
    handler = signal.signal(signal.SIGUSR1, lambda *_: take())
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, handler)


def made_up(turn):
    """Code objects that come and go: the next one often lies where the last one lay."""
    lines = "\n" * (turn % 5)
    source = f"{lines}def made_{turn % 3}():\n{lines}    take()\n{lines}made_{turn % 3}()\n"
    exec(compile(source, f"<made {turn % 7} \N{SNOWMAN}>" if turn % 2 else "<made>", "exec"), {"take": take})
    eval(compile("\n" * (turn % 3) + "take()", "<eval>", "eval"), {"take": take})


def turn_once(turn):
    recursive(turn % 40)
    list(generator(turn % 5))
    made_up(turn)


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(task(4))
    loop.close()  # one left to the collector of garbage may find its sockets collected first, and complains to stderr


def everything(turns):
    threads = [threading.Thread(target=lambda: [turn_once(turn) for turn in range(turns)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    if threading.current_thread() is threading.main_thread():
        for _ in range(turns // 10 + 1):
            called_back()
            coroutines()
    for thread in threads:
        thread.join()


def work(prefix, turns):
    everything(turns)
    finish(prefix)


def finish(prefix):
    with open(f"{prefix}.{os.getpid()}", "a", encoding="utf-8") as out:
        for note in NOTES:
            print(json.dumps(note), file=out)
    NOTES.clear()


def main():
    prefix, turns = sys.argv[1], int(sys.argv[2])
    everything(turns)
    finish(prefix)
    for way in sys.argv[3:]:
        worker = multiprocessing.get_context(way).Process(target=work, args=(prefix, 5))
        worker.start()
        worker.join()
        if worker.exitcode:
            sys.exit(f"{way}: exit status {worker.exitcode}")
    print("done", sys.version_info[:2])


if __name__ == "__main__":
    main()
