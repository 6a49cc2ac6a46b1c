# SPDX-License-Identifier: Apache-2.0
"""What of a report adds up: sums over disjoint values of a filter, tables against each other, --sort and --top against all rows.

Rule: works on the tables of -f json (figures.from_json); what adds up is listed here by hand, for no column says it of itself.
"""
import os

from figures import from_json
from house import check, equal, reduce, scratch

IGNORES = "was given, but this table has no such dimension"
DEVICE_WORK = {"kernel_stats": ("occurrences", "total_ns"), "copy_stats": ("occurrences", "total_ns", "total_bytes"),
               "stream_roles": ("occurrences", "bytes", "compute_ns", "collectives_ns", "copy_in_ns", "copy_out_ns", "memset_ns"),
               "launches": ("records", "device_duration_ns")}
CALLS = {"api_stats": ("calls", "total_ns"), "sync_stats": ("occurrences", "total_ns", "host_ns")}
STEPS = {"step_stats": ("total_ns", "period_ns", "marked_ns", "other_ns", "host_compute_ns", "device_compute_ns", "input_ns"),
         "input.steps": ("total_ns", "wait_ns", "copy_ns")}
MEMORY = {"memory.sites": ("allocations", "total_bytes", "peak_bytes", "leaked_bytes", "requested_bytes"),
          "memory.histogram": ("blocks", "requested_bytes")}
READS = {"io_stats": ("calls", "bytes", "total_ns", "failed")}
ADDS_UP = {
    "--process": {**DEVICE_WORK, **CALLS, **READS, **MEMORY, "range_stats": ("occurrences", "total_ns", "device_ns"), "op_stats": ("occurrences", "self_ns"),
                  "compile_stats": ("occurrences", "total_ns"), "host_usage": ("user_ns", "system_ns", "minor_faults", "reading_ns"),
                  "processes": ("allocations", "peak_bytes", "live_bytes", "events", "duration_ns"), "settings": (), "windows": (),
                  "tf_data.pipelines": ("calls", "total_ns")},
    "--thread": {**DEVICE_WORK, **CALLS, **READS, "op_stats": ("self_ns",)},
    "--device": DEVICE_WORK,
    "--stream": DEVICE_WORK,
    "--window": {**DEVICE_WORK, **CALLS, **STEPS, "op_stats": ("self_ns",)},
    "--step": STEPS,
    "--allocator": {**MEMORY, "memory.timeline": ("live_bytes",)},
}
ADDS_UP["--host"] = ADDS_UP["--process"]
PARTS = [f"{name}_ns" for name in ("compilation", "output", "input", "kernel_launch", "host_compute", "device_collectives", "device_to_device",
                                   "device_compute", "host_communication", "other")]
# Their rows follow from figures of tables that each have filters of their own; they say so.
OF_OTHER_TABLES = ("recommendations", "rules", "rule_evidence")


def total(rows, column):
    return sum(row[column] or 0 for row in rows)


def values(tables):
    """{filter: values that share out all that there is}."""
    def of(column, *names):
        return sorted({row[column] for name in names for row in tables[name]["rows"] if row[column] not in (None, "")})

    run_ns = max((row["start_ns"] or 0) + (row["duration_ns"] or 0) for row in tables["processes"]["rows"])
    threads = {row["id"] for row in tables["memory.summary"]["rows"] if row["scope"] == "thread"}
    threads |= {str(row["thread"]) for name in ("launches", "sync_stats") for row in tables[name]["rows"] if row["thread"] is not None}
    steps = of("step", "step_stats")
    found = {"--process": of("process", "processes"), "--host": of("host", "processes"), "--thread": sorted(threads),
             "--device": of("device", "device_timeline"), "--stream": of("stream", "device_timeline"),
             "--allocator": of("allocator", "memory.summary", "memory.sites"),
             "--window": [f"0ns-{run_ns // 2}ns", f"{run_ns // 2 + 1}ns-"]}
    if steps:
        middle = steps[len(steps) // 2]
        found["--step"] = [f"{steps[0]}-{middle}"] + ([f"{middle + 1}-{steps[-1]}"] if middle < steps[-1] else [])
    return found


def adding(name, column, rows):
    """How often an op ran on devices is told by the kernel of it that ran most often, which may be another one in each part."""
    return [row for row in rows if row["side"] == "host"] if (name, column) == ("op_stats", "occurrences") else rows


def compare_parts(what, option, parts, whole):
    for name, columns in ADDS_UP[option].items():
        rows = [row for part in parts for row in part[name]["rows"]]
        for column in columns:
            wanted, found = (total(adding(name, column, of), column) for of in (whole[name]["rows"], rows))
            room = max(len(rows), len(whole[name]["rows"])) if column.endswith("_ns") else 0  # each cell is rounded to 1 ns
            check(abs(found - wanted) <= room, f"{what}: {name}.{column}: the parts of {option} add up to {found}, without it {wanted}")


def compare_chosen_steps(what, part, whole):
    """--step chooses the work that began in what step_stats shows as the time of those steps."""
    steps = [row for row in part["step_stats"]["rows"] if row["total_ns"] is not None]
    works = [row for row in whole["launches"]["rows"] if row["device_start_ns"] is not None]
    if len(steps) < len(part["step_stats"]["rows"]) or any(row["records"] > 1 for row in works):
        return  # a step without an end; work of graphs, which is told as one
    numbers = [row["process"] for row in whole["processes"]["rows"]]
    if len(set(numbers)) < len(numbers):
        return  # files of hosts that do not tell their processes: whose step it is stands in no column
    inside = sum(any(step["process"] == work["process"] and 0 <= work["device_start_ns"] - step["start_ns"] < step["total_ns"] for step in steps)
                 for work in works)
    if steps and steps[0]["unit"] != "whole":
        equal(total(part["stream_roles"]["rows"], "occurrences"), inside, f"{what}: work of stream_roles in the steps that are shown")


def compare_filters(what, paths, whole, options=tuple(ADDS_UP)):
    """Returns how many filtered reports were looked at."""
    count = 0
    for option, of_option in values(whole).items():
        parts = [from_json(paths, f"{option}={value}", "--top=0", "--points=1000") for value in of_option if option in options]
        count += len(parts)
        for value, part in zip(of_option, parts):
            for name, table in part.items():
                is_ignored = any(note["text"].startswith(option) and IGNORES in note["text"] for note in table["notes"])
                if is_ignored and name not in OF_OTHER_TABLES:
                    equal(table["rows"], whole[name]["rows"], f"{what}: {name} says that {option}={value} is nothing to it")
        if parts:
            compare_parts(what, option, parts, whole)
        for part in parts if option == "--step" else []:
            compare_chosen_steps(what, part, whole)
    return count


def compare_memory(what, tables):
    rows, notes = tables["memory.summary"]["rows"], " ".join(note["text"] for note in tables["memory.summary"]["notes"])
    for allocator in {row["allocator"] for row in rows}:
        mine = [row for row in rows if row["allocator"] == allocator]
        scopes = {scope: [row for row in mine if row["scope"] == scope] for scope in ("job", "process", "thread")}
        for column in ("allocations", "frees", "requested_bytes", "allocated_bytes", "freed_bytes"):
            wanted = total(scopes["job"], column)
            equal(total(scopes["process"], column), wanted, f"{what}: {column} of {allocator} of all processes, as the job has it")
            if scopes["thread"]:
                equal(total(scopes["thread"], column), wanted, f"{what}: {column} of {allocator} of all threads, as the job has it")
        equal(total(scopes["process"], "live_bytes"), total(scopes["job"], "live_bytes"), f"{what}: live bytes of {allocator}")
        for row in scopes["process"]:
            if row["live_bytes"] is not None and row["live_bytes"] != (row["allocated_bytes"] or 0) - (row["freed_bytes"] or 0):
                check("made by fork" in notes or "not in the log" in notes or "from before" in notes,
                      f"{what}: live bytes of {allocator} of {row['id']} are not what was got and not given back, and no note says why")
    heap = [row for row in rows if row["allocator"] == "heap"]
    for column in ("allocations", "live_bytes", "peak_bytes"):
        equal(total(tables["processes"]["rows"], column), total([row for row in heap if row["scope"] == "process"], column),
              f"{what}: {column} of processes, as memory.summary has it")
    sites = [row for row in tables["memory.sites"]["rows"] if row["allocator"] == "heap"]
    if sites and all(row["kind"] == "exact" for row in sites):
        for column, other in (("allocations", "allocations"), ("total_bytes", "allocated_bytes"), ("leaked_bytes", "live_bytes")):
            equal(total(sites, column), total([row for row in heap if row["scope"] == "job"], other), f"{what}: {column} of all sites")
        equal(total([row for row in tables["memory.histogram"]["rows"] if row["allocator"] == "heap"], "blocks"), total(sites, "allocations"),
              f"{what}: blocks of the histogram, as memory.sites has them")


def compare_steps(what, tables):
    rows = [row for row in tables["step_stats"]["rows"] if row["total_ns"] is not None]
    for row in rows:
        equal(total([row], "total_ns"), sum(row[part] for part in PARTS), f"{what}: parts of step {row['step']} of {row['process']}")
        check(sum(row[f"{phase}_ns"] for phase in ("forward", "backward", "optimiser", "communication")) <= row["total_ns"],
              f"{what}: the phases of step {row['step']} last longer than it")
    split = tables["overview.split"]["rows"]
    if split:
        equal(total(split, "total_ns"), total(rows, "total_ns"), f"{what}: overview.split, as step_stats has it")
        check(abs(total(split, "share") - 1) < 1e-6 or not total(rows, "total_ns"), f"{what}: shares of overview.split")
        for row in split:
            if row["column"]:
                equal(row["total_ns"], total(rows, row["column"]), f"{what}: {row['category']} of overview.split, as step_stats has it")


def compare_devices(what, tables):
    kernels, copies, roles = (tables[name]["rows"] for name in ("kernel_stats", "copy_stats", "stream_roles"))
    equal(total(roles, "compute_ns") + total(roles, "collectives_ns"), total(kernels, "total_ns"), f"{what}: kernels of stream_roles, as kernel_stats")
    equal(sum(total(roles, f"{column}_ns") for column in ("copy_in", "copy_out", "copy_device", "memset")), total(copies, "total_ns"),
          f"{what}: copies of stream_roles, as copy_stats")
    works = total(kernels, "occurrences") + total(copies, "occurrences")
    equal(total(roles, "occurrences"), works, f"{what}: work of stream_roles, as kernel_stats and copy_stats")
    equal(total(tables["launches"]["rows"], "records"), works, f"{what}: records of launches, as kernel_stats and copy_stats")
    equal(total(roles, "bytes"), total(copies, "total_bytes"), f"{what}: bytes of stream_roles, as copy_stats")
    precise = tables["overview.precision"]["rows"]
    check(total(precise, "kernels") <= total(kernels, "occurrences"), f"{what}: more kernels in overview.precision than in kernel_stats")
    for row in tables["device_timeline"]["rows"]:
        equal(row["busy_ns"] + row["idle_ns"], row["duration_ns"], f"{what}: busy and idle of a stretch of device_timeline")
    for row in tables["device_gaps"]["rows"]:
        equal(sum(row[f"{part}_ns"] for part in ("compilation", "input", "launch", "host_compute", "communication", "wait", "other")),
              row["duration_ns"], f"{what}: parts of a row of device_gaps")
        check((row["during_ns"] or 0) <= row["duration_ns"], f"{what}: what the host did in a gap took longer than it")
    whole = [row for row in tables["device_timeline"]["rows"] if row["stream"] is None]
    check(total(whole, "busy_ns") <= total(kernels, "total_ns") + total(copies, "total_ns") + len(whole), f"{what}: busier than the sum of all work")


def compare_shares(what, tables):
    for name in ("kernel_stats", "copy_stats", "api_stats"):
        rows = tables[name]["rows"]
        if total(rows, "total_ns"):
            check(abs(total(rows, "share") - 1) < 1e-6, f"{what}: shares of {name} add up to {total(rows, 'share')}")
    for by in {(row["side"], row["by"]) for row in tables["overview.pie"]["rows"]}:
        mine = [row for row in tables["overview.pie"]["rows"] if (row["side"], row["by"]) == by]
        check(abs(total(mine, "share") - 1) < 1e-6 or not total(mine, "self_ns"), f"{what}: shares of overview.pie, {by}")
        ops = [row for row in tables["op_stats"]["rows"] if row["side"] == by[0]]
        check(abs(total(mine, "self_ns") - total(ops, "self_ns")) <= len(ops), f"{what}: own time of ops on the {by[0]}, pie and op_stats")


def compare_tables(what, tables):
    compare_memory(what, tables)
    compare_steps(what, tables)
    compare_devices(what, tables)
    compare_shares(what, tables)


def compare_order(what, paths, whole):
    """--top takes rows away and --sort moves them; neither changes one. Threads of the reducer change nothing at all."""
    few = from_json(paths, "--top=2")
    for name, table in whole.items():
        equal(few[name]["rows"], table["rows"][:2], f"{what}: {name} with --top=2")
    for name, column in (("kernel_stats", "-min_ns"), ("memory.sites", "function"), ("op_stats", "name"), ("io_stats", "-calls"),
                         ("step_stats", "total_ns"), ("memory.summary", "-frees")):
        found = from_json(paths, "-t", name, f"--sort={column}", "--top=0")[name]["rows"]
        equal(sorted(map(repr, found)), sorted(map(repr, whole[name]["rows"])), f"{what}: {name} with --sort={column}")
    for options in (["-f", "json", "--top=0"], ["-f", "perfetto"]):
        equal(reduce_bytes(paths, "-j1", *options), reduce_bytes(paths, "-j2", *options), f"{what}: {options}, -j1 and -j2")


def reduce_bytes(paths, *options):
    path = f"{scratch('bytes')}/{len(os.listdir(scratch('bytes')))}"
    reduce(paths, *options, "-o", path)
    with open(path, "rb") as file:
        return file.read()
