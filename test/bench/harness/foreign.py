# SPDX-License-Identifier: Apache-2.0
"""The same made GPU profile through tfprof-reduce, the xprof package and Holistic Trace Analysis: kernels, ops and steps of it.

Rule: processor time counts, start of the interpreter included (it is part of asking the tool); a peer that is not installed is
named as missing: xprof stands in .venv (scripts/setup test), Holistic Trace Analysis in an environment of its own.
"""
import json
import os
import shutil
import tempfile

from harness import places
from harness.execute import Failed, execute
from harness.rounds import note

LIB = os.path.join(places.ROOT, "test/lib")
XPROF = os.path.join(places.ROOT, ".venv/bin/python")
HTA_PYTHON = os.path.join(places.OUT, "hta", "bin", "python")  # made by test/bench/setup
TABLES = "kernel_stats,op_stats,step_stats"
HTA = ("import sys; from hta.trace_analysis import TraceAnalysis; a = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='/'); "
       "a.get_gpu_kernel_breakdown(visualize=False); a.get_temporal_breakdown(visualize=False)")


def measure(results, workload, tool, events, command, folder):
    """Events a second and memory of one command, the better of two."""
    try:
        runs = [execute(command, None, folder) for _ in range(2)]
    except (Failed, OSError) as failure:
        results.failures.append(f"{tool} on {workload}: {failure}")
        return
    best = min(run.cpu_s for run in runs)
    results.extra["foreign_million_s", workload, tool] = events / best / 1e6
    results.extra["foreign_rss_mib", workload, tool] = max(run.rss_kib for run in runs) / 1024
    note(f"{workload}: {tool}: {events} events in {best:.2f} s of processor time, {max(run.rss_kib for run in runs) / 1024:.0f} MiB")


def compare(results, workload, peer):
    """How many times the peer's speed ours is."""
    ours, theirs = (results.extra.get(("foreign_million_s", workload, tool)) for tool in ("full", peer))
    if ours and theirs:
        results.extra["foreign_times", workload, "full"] = ours / theirs


def foreign(results, plan):
    folder = tempfile.mkdtemp(prefix="tfprof-bench-")
    xplane, trace = os.path.join(folder, "bench.xplane.pb"), os.path.join(folder, "trace.json")
    try:
        made = execute(["python3", os.path.join(places.BENCH, "workloads/foreign_trace.py"), "20000" if plan.quick else "200000", xplane,
                        trace], None, folder)
        events = int(made.values["events"])
        for name, path in (("xplane", xplane), ("kineto", trace)):
            measure(results, name, "full", events, [places.REDUCER, path, "-t", TABLES, "--split=tf", "--step-time=span", "-f", "json",
                                                    "-o", os.path.join(folder, "out.json")], folder)
        asked = json.dumps([["bench", tool, [xplane]] for tool in ("kernel_stats", "framework_op_stats", "overview_page")])
        measure(results, "xplane", "xprof", events, ["sh", "-c", 'printf %s "$1" | "$2" "$3" "$4"', "sh", asked, XPROF,
                                                     os.path.join(LIB, "xprof_run.py"), os.path.join(folder, "answers.json")], folder)
        measure(results, "kineto", "hta", events, [HTA_PYTHON, "-c", HTA, trace], folder)
        compare(results, "xplane", "xprof")
        compare(results, "kineto", "hta")
    except (Failed, KeyError) as failure:
        results.failures.append(f"foreign: {failure}")
    shutil.rmtree(folder, ignore_errors=True)
