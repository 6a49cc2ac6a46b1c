# SPDX-License-Identifier: Apache-2.0
"""The GPU group: what a launch costs on a CUDA that costs nothing (workloads/gpu_none.c), how fast CUPTI's buffers are read,
what a launch takes on disk, and how its log is reduced. The one rule: as in groups.py; processor time of the launching
thread counts, which is little disturbed by what else runs on the machine."""
import os
import shutil

from harness import places, tools, workloads
from harness.execute import Failed, execute
from harness.rounds import note, run_once

TOOLS = "plain gpu-off gpu-window gpu-hooks gpu-hooks-stacks gpu-callback gpu-callback-stacks"
RECORDS = "launch-records"
LAUNCHES_OF_MEMORY = 100_000_000  # of the goal for the reducer's memory; 2 minutes
EVENTS = 2  # of a launch: the host's call and the device's record


def decode(results, quick):
    """Records a second of the collector's reader; best of some runs."""
    program = os.path.join(places.GPU, "gpu_decode")
    if not os.path.exists(program):
        results.failures.append("missing: gpu_decode is not built")
        return
    runs = [execute([program, "50" if quick else "200"]).values["decode_million_s"] for _ in range(3)]
    results.extra["decode_million_s", RECORDS, "gpu-record"] = max(runs)


def html(results, folder, events):
    """The HTML report of a log: events a second, size, memory; frames a second of its Trace page with a million spans."""
    page, key = os.path.join(folder, "report.html"), (RECORDS, "gpu-record")
    made = execute(["sh", "-c", '"$@" || [ $? = 2 ]', "sh", places.REDUCER, "--html", page, folder], None, folder)
    results.extra[("html_million_s", *key)] = events / made.wall_s / 1e6  # a wall time is what is wanted: its threads work side by side
    results.extra[("html_mb", *key)] = os.path.getsize(page) / 1e6
    results.extra[("html_rss_mib", *key)] = made.rss_kib / 1024
    note(f"{events} events: HTML report in {made.cpu_s:.2f} s of processor time, {os.path.getsize(page) / 1e6:.2f} MB, {made.rss_kib / 1024:.0f} MiB")
    try:
        shown = execute(["/usr/bin/python3", os.path.join(places.BENCH, "workloads/page_frames.py"), page], None, folder)
        results.extra[("html_frames_s", *key)] = shown.values["frames_per_s"]
    except (Failed, OSError, KeyError) as failure:
        results.failures.append(f"html: no frames counted: {failure}")


def logged(results, plan, launches, times):
    """Records once, then reports: bytes an event on disk, events a second, memory of the reducer in MiB. Exit status 2
    (answered, but something was lost) counts: on a busy machine CUPTI's buffers may run out, and the report says so."""
    workload, tool = workloads.BY_NAME[RECORDS], tools.BY_NAME["gpu-record"]
    sample, folder = run_once(workload, tool, launches, keep=True)
    events = EVENTS * launches
    runs = [execute(["sh", "-c", '"$@" >report.txt || [ $? = 2 ]', "sh", places.REDUCER, folder], None, folder) for _ in range(times)]
    html(results, folder, events)
    shutil.rmtree(folder, ignore_errors=True)
    note(f"{launches} launches: {sample.disk_bytes / events:.2f} B an event, reduced in {min(r.cpu_s for r in runs):.2f} s of "
         f"processor time, {min(r.rss_kib for r in runs) / 1024:.0f} MiB")
    return sample.disk_bytes / events, events / min(r.cpu_s for r in runs) / 1e6, min(r.rss_kib for r in runs) / 1024


def gpu(results, plan, rounds_of):
    rounds_of(results, plan, ("gpu",), TOOLS, plan.rounds, seen=False)
    try:
        decode(results, plan.quick)
        launches = 1_000_000 if plan.quick else 5_000_000
        disk, speed, _ = logged(results, plan, launches, 2 if plan.quick else 3)
        key = (RECORDS, "gpu-record")
        results.extra[("gpu_disk_per_event", *key)], results.extra[("gpu_reduce_million_s", *key)] = disk, speed
        if not plan.quick:
            results.extra[("gpu_reduce_rss_mib", *key)] = logged(results, plan, LAUNCHES_OF_MEMORY, 1)[2]
    except (Failed, OSError, KeyError) as failure:
        results.failures.append(f"gpu: {failure}")
