# SPDX-License-Identifier: Apache-2.0
"""The real xprof package's answers about XPlane files, and our tables held against them, number by number.

Rule: times are compared as whole nanoseconds; where a table may differ on purpose, the case says so, not this file.
"""
import json
import os
import subprocess

from frameworks import WHEELS
from house import REDUCE, TOP, check, clean_environment, equal, scratch

TOOLS = ["kernel_stats", "framework_op_stats", "overview_page", "memory_profile"]


def write_files(folder, files):
    os.makedirs(folder, exist_ok=True)
    paths = []
    for host, data in files:
        paths.append(os.path.join(folder, host + ".xplane.pb"))
        with open(paths[-1], "wb") as file:
            file.write(data)
    return paths


def ask_xprof(asked):
    """[(case, tool, files)] -> {(case, tool): answer}."""
    out = os.path.join(scratch("xprof"), "answers.json")
    done = subprocess.run([WHEELS, os.path.join(TOP, "test/lib/xprof_run.py"), out], input=json.dumps(asked).encode(),
                          env=clean_environment(None), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    check(done.returncode == 0, f"xprof: {done.stderr.decode(errors='replace')[-1500:]}")
    with open(out) as file:
        return {(name, tool): answer for name, tool, answer in json.load(file)}


def ours(paths, *words, status=(0,)):
    """Our tables as rows of columns."""
    done = subprocess.run([REDUCE, *paths, "-f", "json", "--top", "0", *words], env=clean_environment(None), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100)
    check(done.returncode in status, f"{paths} {words}: {done.returncode} {done.stderr.decode(errors='replace')[-800:]}")
    return json.loads(done.stdout)


def rows_of(tables, name):
    columns = [column["id"] for column in tables["tables"][name]["columns"]]
    return [row if isinstance(row, dict) else dict(zip(columns, row)) for row in tables["tables"][name]["rows"]]


def xprof_rows(table):
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, [cell.get("v") if cell else None for cell in row["c"]])) for row in table["rows"]]


def plain_op(name):
    """An op's name without its type."""
    return (name or "").split(":")[0]


def compare_kernels(name, answer, tables, kernel="mangled_name"):
    """Every row. kernel: the column of ours that holds the name as the file has it."""
    found = {}
    for row in rows_of(tables, "kernel_stats"):
        key = (row[kernel], row["registers_per_thread"], row["shared_bytes"], row["block"], row["grid"], row["op_name"] or "")
        key = key[:-1] + (plain_op(key[-1]),)
        check(key not in found, f"{name}: {key} stands twice")
        found[key] = (row["occurrences"], row["total_ns"], row["avg_ns"], row["min_ns"], row["max_ns"],
                      row["occupancy_percent"] or 0)  # unknown: empty, there 0
    wanted = {}
    for row in xprof_rows(answer):
        key = (row["kernel_name"], int(row["registers_per_thread"]),
               int(row["shmem_bytes"]), row["block_dim"], row["grid_dim"], row["op_name"])
        wanted[key] = (int(row["occurrences"]), *(round(row[f"{what}_duration_us"] * 1000) for what in ("total", "avg", "min", "max")),
                       row["occupancy_pct"])
    equal(sorted(found.items()), sorted(wanted.items()), f"{name}: kernel_stats")
    return len(wanted)


PARTS = {"deviceComputeTimeMs": ["device_compute_ns"], "deviceToDeviceTimeMs": ["device_to_device_ns"],
         "deviceCollectivesTimeMs": ["device_collectives_ns"], "hostComputeTimeMs": ["host_compute_ns"],
         "kernelLaunchTimeMs": ["kernel_launch_ns"], "infeedTimeMs": ["input_ns"], "outfeedTimeMs": ["output_ns"],
         "compileTimeMs": ["compilation_ns"], "otherTimeMs": ["other_ns"]}


def compare_steps(name, answer, tables):
    """Every part of every step, to the nanosecond."""
    steps = answer[1]
    wanted = [{"step": int(row["stepnum"].split()[-1]),  # a host alone says "train 7"
                "total_ns": round(sum(row[part] for part in PARTS) * 1e6),
               **{part: round(row[part] * 1e6) for part in PARTS}} for row in xprof_rows(steps)]
    found = [{"step": row["step"], "total_ns": row["total_ns"],
              **{part: sum(row[column] or 0 for column in columns) for part, columns in PARTS.items()}}
             for row in rows_of(tables, "step_stats")]
    equal(found, wanted, f"{name}: step_stats")
    return len(wanted)


def compare_ops(name, answer, tables):
    """Ops of the host and of the device, without the idle rows."""
    # xprof counts each allocation for an op as an occurrence of it, without time; ours has a column for those.
    count = (lambda number: 0) if name.startswith("memory") else int
    wanted = sorted((row["host_or_device"].lower(), row["type"], row["operation"], count(row["occurrences"]),
                     round(row["total_time"] * 1000), round(row["total_self_time"] * 1000))
                    for row in xprof_rows(answer[1]) if row["operation"] != "IDLE" and row["total_time"] > 0)
    found = sorted((row["side"], row["type"] or "", row["name"] or "", count(row["occurrences"]), row["total_ns"], row["self_ns"])
                   for row in rows_of(tables, "op_stats")
                   if row["total_ns"] > 0 and row["name"] != "(of no op)")  # xprof has no row for such work
    sides = {row[0] for row in found}
    equal(found, [row for row in wanted if row[0] in sides], f"{name}: op_stats")
    return len(found)


def compare_memory(name, answer, tables):
    """What each allocator holds at its peak and for whom. Ours counts time from the first event, xprof from the session's start."""
    found, wanted, starts = [], [], set()
    for row in rows_of(tables, "memory.allocators"):
        held = {}
        for block in rows_of(tables, "memory.peak"):
            if block["allocator"] == row["allocator"] and block["region"] != "stack":
                held[block["op_name"]] = held.get(block["op_name"], 0) + block["allocated_bytes"]
        found.append((row["allocator"], row["lifetime_peak_bytes"], row["capacity_bytes"], row["peak_bytes"], row["stack_bytes"],
                      row["heap_bytes"], row["free_bytes"], row["fragmentation"], sorted(held.items())))
    for allocator, profile in answer["memoryProfilePerAllocator"].items():
        summary, held = profile["profileSummary"], {}
        peak = summary["peakStats"]
        for active in profile["activeAllocations"]:
            if int(active["snapshotIndex"]) >= 0:
                what = profile["memoryProfileSnapshots"][int(active["snapshotIndex"])]["activityMetadata"]
                held[what["tfOpName"]] = held.get(what["tfOpName"], 0) + int(what["allocationBytes"]) * int(active["numOccurrences"])
        for special in profile["specialAllocations"]:
            if special["regionType"] != "stack":  # "unused preallocated device memory"
                held["(handed out before recording began, or kept unused)"] = int(special["allocationBytes"])
        wanted.append((allocator, int(summary["peakBytesUsageLifetime"]), int(summary["memoryCapacity"]), int(peak["peakBytesInUse"]),
                       int(peak["stackReservedBytes"]), int(peak["heapAllocatedBytes"]), int(peak["freeMemoryBytes"]),
                       peak["fragmentation"], sorted(held.items())))
        time = next(row["peak_time_ns"] for row in rows_of(tables, "memory.allocators") if row["allocator"] == allocator)
        starts.add(int(summary["peakStatsTimePs"]) // 1000 - time)
    equal(sorted(found), sorted(wanted), f"{name}: memory")
    check(len(starts) <= 1, f"{name}: times of the peaks: {starts}")
    return len(found)
