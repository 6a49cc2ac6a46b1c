# SPDX-License-Identifier: Apache-2.0
"""Kills test/programs/crash_load.c and compares its log with what it had published: 0 lost, 0 torn.

Rule: the program's own shared memory is the truth; a call that had begun and not come back may be in the log or not.
"""
import mmap
import os
import signal
import struct
import time

from house import Failure, check, program, reduce, scratch, start, summary
from stream import events_of

HEADER_BYTES, SLOT_BYTES, SLOTS = 64, 64, 512
LIMIT_S = 100
LIVE = 16


def size(n):
    return 24 + n * 40503 % 4001


class Published:
    """The shared memory of one run of crash_load."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(HEADER_BYTES + SLOT_BYTES * SLOTS)
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), HEADER_BYTES + SLOT_BYTES * SLOTS)

    def slots(self):
        used = min(struct.unpack_from("<Q", self.map, 0)[0], SLOTS)
        names = ("pid", "tid", "mallocs_begun", "mallocs_done", "frees_begun", "frees_done")
        rows = [dict(zip(names, struct.unpack_from("<IIQQQQ", self.map, HEADER_BYTES + SLOT_BYTES * i)))
                for i in range(used)]
        return [row for row in rows if row["pid"]]

    def total(self):
        return sum(slot["mallocs_done"] for slot in self.slots())

    def wait_for(self, total, process):
        end = time.monotonic() + LIMIT_S
        while self.total() < total:
            check(process.poll() is None, f"crash_load ended by itself: {process.returncode}")
            check(time.monotonic() < end, f"crash_load made only {self.total()} of {total} allocations in {LIMIT_S} s")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_until_gone(pids):
    end = time.monotonic() + LIMIT_S
    while not all(gone(pid) for pid in pids):
        check(time.monotonic() < end, f"killed processes still there: {pids}")
        time.sleep(0.001)


def compare_thread(slot, found, who):
    """found: [(kind, size or None)] of this thread, in order. The n-th malloc of the slot must be the n-th there."""
    sizes = [size_ for kind, size_ in found if kind == "alloc"]
    frees = len(found) - len(sizes)
    # libc allocates for the threads it makes; those blocks come before a thread's own first call
    first = next((i for i in range(min(len(sizes), 40)) if sizes[i:i + 3] == [size(0), size(1), size(2)][:len(sizes) - i]),
                 len(sizes))
    mine = sizes[first:]
    wrong = next((n for n, value in enumerate(mine) if value != size(n)), None)
    if wrong is not None and wrong < slot["mallocs_done"]:
        raise Failure(f"{who}: allocation {wrong} has size {mine[wrong]}, wanted {size(wrong)}")
    check(len(mine) >= slot["mallocs_done"], f"{who}: {len(mine)} allocations in the log, {slot['mallocs_done']} were done")
    check(frees >= slot["frees_done"], f"{who}: {frees} releases in the log, {slot['frees_done']} were done")


def compare(run, published, who):
    """Returns how many calls were held against the log."""
    slots, compared = published.slots(), 0
    logs = {log.pid: log for log in run.logs()}
    for pid in {slot["pid"] for slot in slots}:
        mine = [slot for slot in slots if slot["pid"] == pid]
        done = sum(slot["mallocs_done"] for slot in mine)
        if pid not in logs:
            check(not done, f"{who}: no log of pid {pid}, which made {done} allocations")
            continue
        log = logs[pid]
        reduce(log.path, "--check", status=(0,))
        rows = summary(log.path)
        check(len(rows) == 1, f"{who}: pid {pid} has {len(rows)} rows in memory.summary")
        row = rows[0]
        begun = sum(slot["mallocs_begun"] for slot in mine)
        counted = row["allocations"] or 0  # not known: killed before any thread had its counters, and so before its first call was done
        check(done <= counted <= begun + 64, f"{who}: pid {pid}: {row['allocations']} allocations counted, "
              f"{done} done, {begun} begun")
        streams = events_of(log.path)
        for slot in mine:
            compare_thread(slot, streams.get(slot["tid"], []), f"{who}: pid {pid} tid {slot['tid']}")
            compared += slot["mallocs_done"] + slot["frees_done"]
    return compared


def one(number, settings, at, from_within=False, victim="group"):
    """One run: killed when `at` allocations were published (from_within: by the thread that made its at-th)."""
    folder = scratch(f"kill{number}")
    published = Published(f"{folder}/published")
    words = [program("crash_load"), published.path] + ([str(at)] if from_within else [])
    process, run = start(words, {"MALLOC": "full", **settings}, start_new_session=True)
    if not from_within:
        published.wait_for(at, process)
        os.kill(process.pid, signal.SIGKILL) if victim == "parent" else None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait(LIMIT_S)
    process.stdout.close()
    process.stderr.close()
    wait_until_gone({slot["pid"] for slot in published.slots()})
    check(process.returncode == -signal.SIGKILL, f"status {process.returncode}")
    return compare(run, published, f"kill {number} (at {at}{', from within' if from_within else ''}, {settings})")
