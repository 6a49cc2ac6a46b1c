# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds: in each, every tool runs every workload once, in random order, the plain run among them. The one
rule: figures are compared only within what one call of run_rounds measured."""
import os
import random
import shutil
import subprocess
import sys

from harness import places
from harness.execute import Failed, bytes_below, execute, output_of


class Results:
    """All samples: (workload name, tool name) -> list by round, None where a run failed. Also counts and notes."""

    def __init__(self):
        self.samples = {}
        self.seen = {}      # (workload, tool) -> allocations in the tool's own report
        self.events = {}    # workload -> (allocations, releases) by the oracle
        self.failures = []  # sentences
        self.extra = {}     # (figure that is no ratio of runs, workload, tool) -> value
        self.clock = []     # rdtsc_ns of each round
        self.sizes = {}     # workload -> size of its runs
        self.reduce_events = {}  # workload -> events of the log that is reduced

    def add(self, workload, tool, sample):
        self.samples.setdefault((workload, tool), []).append(sample)

    def runs(self, workload, tool):
        return [s for s in self.samples.get((workload, tool), []) if s is not None]

    def rdtsc_ns(self):
        return min(self.clock) if self.clock else None


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def with_driver(job, command, env):
    """Puts a driver in front; the environment then belongs to the driven command alone."""
    if not job.driver:
        return command, env
    return [*job.driver, places.program("env"), *[f"{key}={value}" for key, value in env.items()], *command], {}


def run_once(workload, tool, size, keep=False):
    """One measured run in a fresh folder. Returns (sample, folder or None)."""
    folder = os.path.join(places.DATA, f"run-{workload.name}-{tool.name}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    job = workload.job(size)
    command, env = with_driver(job, *tool.wrap(job, folder))
    tool.begin(folder)
    try:
        sample = execute(command, env, folder)
    finally:
        tool.end(folder)
    sample.disk_bytes = bytes_below(folder)
    if not tool.left_log(folder):
        raise Failed("it left no log, so its speed means nothing")
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return sample, folder


def fits(workload, tool):
    return workload.python or not tool.python


def tick(results):
    clock = os.path.join(places.BIN, "clock")
    values = execute([clock]).values
    results.clock.append(values["rdtsc_ns"])


def count_seen(results, workload, tool, folder, slow_too):
    """What the tool's own report says it saw; some reports take as long as ten runs."""
    if slow_too or not tool.slow_report:
        results.seen[workload.name, tool.name] = tool.seen(folder)
    if tool.name == "count":
        results.events[workload.name] = tool.both(folder)


def one_round(results, cells, sizes, keep, slow_too):
    """Every cell once. A cell that failed once is not tried again."""
    random.shuffle(cells)
    tick(results)
    for workload, tool in cells:
        if None in results.samples.get((workload.name, tool.name), []):
            continue
        try:
            sample, folder = run_once(workload, tool, sizes[workload.name], keep)
            if keep:
                count_seen(results, workload, tool, folder, slow_too)
                shutil.rmtree(folder, ignore_errors=True)
        except Failed as failure:
            sample = None
            results.failures.append(f"{tool.name} on {workload.name}: {failure}")
        results.add(workload.name, tool.name, sample)


def run_rounds(results, workloads, tools, sizes, rounds, slow_seen, seen=True):
    """Fills results. sizes: workload name -> size. The last round keeps the output and counts what each tool saw, with
    slow_seen also those whose report takes long."""
    cells = [(w, t) for w in workloads for t in tools if fits(w, t)]
    for number in range(rounds):
        note(f"round {number + 1} of {rounds}: {len(cells)} runs")
        one_round(results, list(cells), sizes, seen and number == rounds - 1, slow_seen)


def available(things, results):
    """Those that can run; the others become sentences of results.failures."""
    good = []
    for thing in things:
        why = thing.missing()
        if why is None:
            good.append(thing)
        else:
            results.failures.append(f"missing: {thing.name} ({thing.what}): {why}")
    return good


class Daemon:
    """The LTTng session daemon, started if none runs, and ended again if we started it."""

    def __enter__(self):
        self.process = None
        daemon = places.program("lttng-sessiond")
        if daemon and not output_of(["lttng", "list"]):
            quiet = subprocess.DEVNULL
            self.process = subprocess.Popen([daemon, "--no-kernel", "--quiet"], stdin=quiet, stdout=quiet, stderr=quiet)
            execute(["sh", "-c", "i=0; while [ $i -lt 100 ] && ! lttng list >/dev/null 2>&1; do sleep 0.1; i=$((i+1)); done"])
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
