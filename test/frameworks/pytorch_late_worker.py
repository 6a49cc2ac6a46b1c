# SPDX-License-Identifier: Apache-2.0
"""Marked steps that each wait for a worker, which was made among them and keeps 512 KiB more after each: while it loads (its first
tensor comes at the end), or with every batch (its first tensor comes first). pytorch_late_worker.py loading|leaking"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../preload"))
import tfprof
import torch

STEPS, BEFORE, PIECE = 240, 20, 512 << 10


def work(asked, answers, mode):
    kept = []
    for number in range(STEPS - BEFORE):
        if os.read(asked, 1) == b"":
            break
        if number == (0 if mode == "leaking" else STEPS - BEFORE - 1):
            torch.ones(1024)
        kept.append([bytearray(PIECE // 8) for _ in range(8)])
        sum(range(40000))  # so that a pause of the machine is little beside all steps
        os.write(answers, b".")
    os._exit(0)


def main(mode):
    asked, answers, child = os.pipe(), os.pipe(), 0
    for number in range(STEPS):
        tfprof.step()
        if number == BEFORE:
            child = os.fork()
            if child == 0:
                os.close(asked[1])
                work(asked[0], answers[1], mode)
        if number >= BEFORE:
            os.write(asked[1], b"?")
            os.read(answers[0], 1)
    os.waitpid(child, 0)
    print("done")


main(sys.argv[1])
