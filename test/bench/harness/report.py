# SPDX-License-Identifier: Apache-2.0
"""What `make bench` prints and the file it leaves. The one rule: a cell that was not measured is a dash, and each
failure is named at the end."""
import csv
import datetime
import os

from harness import places, tools, workloads
from harness.metrics import METRICS, best, median_ratio, ratio

TABLES = [
    # group of workloads, title, metric, digits
    ("micro", "ns an event added to the plain loop (min - min)", "added_ns", 1),
    ("micro", "the same as a ratio to one rdtsc", "added_rdtsc", 2),
    ("micro", "processor time of the program itself (helpers not counted), ns an event added", "added_own_cpu_ns", 1),
    ("micro", "loop time, ratio to plain: min/min | median of the rounds' ratios", "ratios", 2),
    ("micro", "processor time of all threads and helpers, ratio to plain", "cpu_ratio", 2),
    ("micro", "instructions an event added (callgrind, start-up cancelled)", "instructions", 0),
    ("real", "wall time, ratio to plain: min/min | median of the rounds' ratios", "ratios", 3),
    ("real", "processor time, ratio to plain", "cpu_ratio", 2),
    ("side", "loops without allocation, ratio to plain: min/min | median", "ratios", 3),
    ("real micro", "share of the allocations that the tool's own report names", "seen", 4),
    ("real micro", "bytes on disk an event (allocations + releases)", "disk_per_event", 2),
    ("real", "peak memory of the largest process, KiB above plain", "added_rss_kib", 0),
    ("start", "start-up, ms above plain (best of all rounds)", "start_ms", 2),
]
FOOTPRINT = ("thread_idle_kib", "thread_idle_kib_private", "thread_idle_kib_disk", "thread_busy_kib", "thread_busy_kib_private",
             "thread_busy_kib_disk", "process_kib", "process_kib_private", "process_kib_disk")
REDUCE = ("reduce_s_per_million", "reduce_million_s", "reduce_s_at_10_million", "reduce_rss_mib", "reduce_lines")


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def cell(results, workload, tool, metric, digits):
    if metric == "ratios":
        return f"{number(ratio(results, workload, tool), digits)} | {number(median_ratio(results, workload, tool), digits)}"
    return number(METRICS[metric](results, workload, tool), digits)


def align(rows):
    """Text rows as aligned columns, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def matrix(results, group, metric, digits):
    """Rows of tools, columns of workloads; empty where nothing was measured."""
    columns = [w.name for w in workloads.of_group(*group.split())
               if any((w.name, t.name) in results.samples or ("instructions", w.name, t.name) in results.extra
                      for t in tools.TOOLS)]
    rows = []
    for tool in tools.TOOLS:
        cells = [cell(results, c, tool.name, metric, digits) for c in columns]
        if any(c.replace("|", "").replace("-", "").strip() for c in cells):
            rows.append([tool.name, *cells])
    return [["tool", *columns], *rows] if rows else []


def print_table(title, rows):
    if rows:
        print(f"\n## {title}\n")
        print("\n".join(align(rows)))


def plain_rows(results):
    rows = [["workload", "plain, best", "allocations", "releases", "what"]]
    for workload in workloads.WORKLOADS:
        value = best(results, workload.name, "plain")
        if value is not None:
            events = results.events.get(workload.name, ("-", "-"))
            unit = "ns an event" if workload.quantity == "ns_per_event" else "s"
            rows.append([workload.name, f"{value:.3f} {unit}", *map(str, events), workload.what])
    return rows if len(rows) > 1 else []


def extra_rows(results, names, digits):
    pairs = sorted({(w, t) for (name, w, t) in results.extra if name in names})
    if not pairs:
        return []
    rows = [["workload tool", *names]]
    for pair in pairs:
        rows.append([" ".join(pair), *[number(results.extra.get((name, *pair)), digits) for name in names]])
    return rows


def print_results(results):
    print_table("workloads", plain_rows(results))
    for group, title, metric, digits in TABLES:
        print_table(title, matrix(results, group, metric, digits))
    print_table("memory and disk of threads and process, KiB above plain (full: resident, private, disk)",
                extra_rows(results, FOOTPRINT, 0))
    print_table("the default text report", extra_rows(results, REDUCE, 3))


def goal_row(v):
    goal, limit = v.goal, v.limit
    wanted = f"{'<' if goal.op == '<peer' else goal.op} {number(limit, 3)}" if limit is not None else goal.op
    gap = f"{v.value / v.peer_value:.2f}" if v.value is not None and v.peer_value else "-"
    if goal.metric == "cheaper":
        gap = "-"
    return [goal.id, goal.text, f"{goal.workload}/{goal.tool}", wanted, number(v.value, 3), goal.unit or "-",
            v.peer or "-", number(v.peer_value, 3), gap, v.state]


def print_goals(verdicts):
    head = ["id", "goal", "of", "wanted", "measured", "unit", "best peer", "peer has", "ours/peer", "state"]
    for group in dict.fromkeys(v.goal.group for v in verdicts):
        rows = [goal_row(v) for v in verdicts if v.goal.group == group]
        print_table(f"goals: {group}", [head, *rows])
    for state, title in (("MISSED", "missed"), ("not measured", "not measured in this run"), ("not built", "not built")):
        chosen = [v for v in verdicts if v.state == state]
        print(f"\n{len(chosen)} goals {title}: " + (" ".join(v.goal.id for v in chosen) or "none"))
    met = sum(v.state == "met" for v in verdicts)
    print(f"{met} of {len(verdicts)} goals met")


def print_failures(results):
    if results.failures:
        print("\n## missing and failed\n")
        print("\n".join(sorted(set(results.failures))))


def save(results, verdicts, facts):
    """Writes every sample, figure and verdict to results/<date>.csv; returns the path."""
    os.makedirs(places.RESULTS, exist_ok=True)
    path = os.path.join(places.RESULTS, datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S.csv"))
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["kind", "workload", "tool", "name", "round", "value"])
        out.writerows(["fact", "", "", name, "", value] for name, value in facts)
        for (workload, tool), samples in results.samples.items():
            for i, s in enumerate(samples):
                if s is not None:
                    fields = {"wall_s": s.wall_s, "cpu_s": s.cpu_s, "rss_kib": s.rss_kib, "disk_bytes": s.disk_bytes, **s.values}
                    out.writerows(["sample", workload, tool, k, i, v] for k, v in fields.items())
        for (name, workload, tool), value in results.extra.items():
            out.writerow(["figure", workload, tool, name, "", value])
        for v in verdicts:
            out.writerow(["goal", v.goal.workload, v.goal.tool, v.goal.id, v.state, v.value])
    return path
