# SPDX-License-Identifier: Apache-2.0
"""What a script can say with tfprof.py: threads, coroutines, generators, exceptions, worker processes. Prints what it did."""
import asyncio
import multiprocessing
import sys
import threading

import tfprof


@tfprof.range("named")
def named(depth):
    return named(depth - 1) if depth else 1


class Model:
    @tfprof.range
    def forward(self):
        with tfprof.range("inner"):
            return 3


@tfprof.range("task")
async def task(count):
    for _ in range(count):
        async with tfprof.range("part"):
            await asyncio.sleep(0)
    return count


async def tasks():
    return sum(await asyncio.gather(*(task(4) for _ in range(5))))


def failing():
    try:
        with tfprof.range("fails"):
            raise ValueError("as it should")
    except ValueError:
        return 1


def generate():
    with tfprof.range("generator"):
        for i in range(3):
            yield i


def worker(count):
    for _ in range(count):
        with tfprof.range("worker"):
            pass


def main():
    done = [named(3), Model().forward(), failing(), sum(generate())]
    loop = asyncio.new_event_loop()
    done.append(loop.run_until_complete(tasks()))
    loop.close()
    threads = [threading.Thread(target=worker, args=(10,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.append(sum(tfprof.steps(range(6))))
    tfprof.mark("the end")
    for way in sys.argv[1:]:
        process = multiprocessing.get_context(way).Process(target=worker, args=(10,))
        process.start()
        process.join()
        done.append(process.exitcode)
    print(done)


if __name__ == "__main__":
    main()
