# SPDX-License-Identifier: Apache-2.0
"""Runs one way of test/programs/life.c between the oracles, in every mode, and looks at who names whom as parent."""
from house import check, equal, program, run, table
from oracle_check import compare
from real import MODES


def lineage(logs, who):
    """Every log but the first names its parent: by log id after a fork, by pid and start time after an exec."""
    by_id = {log.log_id: log for log in logs}
    by_process = {(log.pid, log.start) for log in logs}
    for log in logs[1:]:
        is_image = any((other.pid, other.start) == (log.pid, log.start) and other.ticks < log.ticks for other in logs)
        named = log.parent_log_id in by_id or (log.parent_pid, log.parent_start) in by_process
        check(is_image or named, f"{who}: pid {log.pid} ({log.command}) does not name its parent: parent_log_id "
              f"{log.parent_log_id:x}, parent {log.parent_pid} started {log.parent_start}")
    equal(len({log.log_id for log in logs}), len(logs), f"{who}: different log ids")


TRIES = 3  # a storm of signals may be faster than an oracle that has no processor just then, and can note 64 calls in handlers


def seen(way, settings, **more):
    """A run in which the oracles saw every call; if none was, the last, which the comparison refuses."""
    for _ in range(TRIES):
        found = run([program("life"), way], settings, oracle=True, **more)
        if not any(oracle.dropped for role in ("inner", "outer") for oracle in found.oracles(role)):
            break
    return found


def live(way, logs=1, status=0, ends=("exit",), **more):
    """logs: how many process images leave one. ends: how they end, sorted. more: of house.run, as preexec_fn."""
    for mode, (settings, is_batched, curve) in MODES.items():
        who = f"life {way}, {mode}"
        found = seen(way, settings, **more)
        equal((found.status, found.err, found.out), (status, b"", b""), f"{who}: status, stderr, stdout")
        compare(found, is_batched, curve)
        kept = found.logs()
        equal(len(kept), logs, f"{who}: logs")
        lineage(kept, who)
        equal(sorted(log.end_kind for log in kept), sorted(ends), f"{who}: how the processes ended")
        rows = [row for row in table(found.folder, "memory.summary") if row["allocator"] == "heap"]
        equal(sum(row["scope"] == "job" for row in rows), 1, f"{who}: rows of the run")
    alone = run([program("life"), way], {"MALLOC": "full", "STACKS": 32}, **more)
    equal((alone.status, alone.err), (status, b""), f"life {way}, without oracles: status, stderr")
