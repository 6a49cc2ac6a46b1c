# SPDX-License-Identifier: Apache-2.0
"""Allocates COUNT blocks of 600 bytes at a depth of 20 Python frames; prints the loop's wall time and its events."""
import sys
import time

def deeper(depth, count):
    return deeper(depth - 1, count) if depth else loop(count)

def loop(count):
    begin = time.perf_counter()
    for _ in range(count):
        bytearray(600)
    return time.perf_counter() - begin

COUNT = int(sys.argv[1])
loop(1000)
SECONDS = deeper(17, COUNT)

print(f"ns_per_event {SECONDS * 1e9 / COUNT:.3f}")
print(f"events {COUNT}")
