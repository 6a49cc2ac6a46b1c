# SPDX-License-Identifier: Apache-2.0
"""NVTX through the Python package: a decorator, a context manager, push and pop, marks, domains, threads and a worker process."""
import multiprocessing
import threading

import nvtx


@nvtx.annotate("decorated", color="blue", domain="script")
def decorated(depth):
    return decorated(depth - 1) if depth else 0


def work(count):
    for _ in range(count):
        with nvtx.annotate("with"):
            nvtx.push_range("pushed", domain="script", category="cat")
            nvtx.pop_range(domain="script")


def main():
    for _ in range(5):
        decorated(3)
    work(7)
    threads = [threading.Thread(target=work, args=(11,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    nvtx.mark("marked", domain="script")
    nvtx.end_range(nvtx.start_range("started"))
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=work, args=(13,))
    worker.start()
    worker.join()


if __name__ == "__main__":
    main()
