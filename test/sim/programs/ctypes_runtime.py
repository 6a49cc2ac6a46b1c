#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA from Python by ctypes, in threads: memory up, down and set, streams, events; prints `done` or the wrong answer.

ctypes looks functions up by dlsym in the library's handle, so symbol hooks of a preload are passed by.
"""
import ctypes
import sys
import threading

THREADS, ROUNDS, BYTES = 4, 50, 100000
runtime = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcudart.so.13")
failures = []


def call(name, *arguments):
    result = getattr(runtime, name)(*arguments)
    if result:
        failures.append(f"{name}: {result}")
        raise SystemExit(1)


def work(number):
    stream, event, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cudaStreamCreate", ctypes.byref(stream))
    call("cudaEventCreate", ctypes.byref(event))
    call("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(BYTES))
    up = ctypes.create_string_buffer(bytes([number + 1]) * BYTES, BYTES)
    back = ctypes.create_string_buffer(BYTES)
    for _ in range(ROUNDS):
        call("cudaMemcpyAsync", memory, up, ctypes.c_size_t(BYTES), 1, stream)
        call("cudaEventRecord", event, stream)
        call("cudaMemcpyAsync", back, memory, ctypes.c_size_t(BYTES), 2, stream)
        call("cudaStreamSynchronize", stream)
        if back.raw != up.raw:
            failures.append("bytes did not come back")
        call("cudaMemsetAsync", memory, 0, ctypes.c_size_t(BYTES), stream)
    call("cudaStreamSynchronize", stream)
    call("cudaFree", memory)


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures[0] if failures else "done")
sys.exit(1 if failures else 0)
