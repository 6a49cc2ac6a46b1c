# SPDX-License-Identifier: Apache-2.0
"""The groups of the bench: what each measures. The one rule: a group is a function (results, plan) named in GROUPS; it
fills results and prints nothing."""
import dataclasses
import os
import re
import shutil
import time

from harness import foreign, gpu, places, tools, workloads
from harness.execute import Failed, bytes_below, execute
from harness.rounds import available, note, run_once, run_rounds

MICRO = ("plain nop count full full-inline full-thread full-helper bare bare-inline bare-thread bare-helper sample totals "
         "exact-peak off window-off heaptrack heaptrack-raw heaptrack-new heaptrack-new-raw lttng jemalloc jemalloc-prof")
MICRO_QUICK = "plain nop full full-inline bare bare-inline bare-thread sample totals window-off off heaptrack heaptrack-new lttng"
REAL = "plain nop count full bare sample totals heaptrack heaptrack-raw heaptrack-new lttng memray memray-native jemalloc-prof"
REAL_QUICK = "plain count full bare sample heaptrack heaptrack-new lttng memray"
START = "plain nop sample full heaptrack heaptrack-new lttng memray jemalloc-prof gperftools"
FOOTPRINT = ("plain", "full", "bare", "sample")


@dataclasses.dataclass
class Plan:
    """quick: small sizes and fewer tools; rounds: of micro and real; only: names of workloads, empty = all."""
    quick: bool
    rounds: int
    only: tuple = ()
    tools: tuple = ()

    def pick_tools(self, names, results):
        chosen = [tools.BY_NAME[n] for n in names.split() if not self.tools or n in self.tools or n == "plain"]
        if self.quick and os.environ.get("BENCH_HEAPTRACK"):
            chosen = [t for t in chosen if t.name != "heaptrack"]  # the newer one stands for both
        return available(chosen, results)

    def pick_workloads(self, group, results):
        chosen = [w for w in workloads.of_group(*group) if not self.only or w.name in self.only]
        return available(chosen, results)

    def size(self, workload):
        return workload.sizes[0 if self.quick else 1]


def rounds_of(results, plan, group, tool_names, count, seen=True):
    chosen = plan.pick_workloads(group, results)
    sizes = {w.name: plan.size(w) for w in chosen}
    results.sizes.update(sizes)
    run_rounds(results, chosen, plan.pick_tools(tool_names, results), sizes, count, seen and not plan.quick, seen)


def micro(results, plan):
    if plan.quick and not plan.only:
        plan = dataclasses.replace(plan, only=("m5", "m30", "m5x2"))
    rounds_of(results, plan, ("micro",), MICRO_QUICK if plan.quick else MICRO, plan.rounds, seen=False)
    if not plan.quick:
        slow_peers(results, plan)
    instructions(results, plan)


def slow_peers(results, plan):
    """The peers of microseconds an event: a fiftieth of the work, the added cost an event is what compares."""
    for name in ("jemalloc-all", "gperftools"):
        for tool in plan.pick_tools(name, results):
            for workload in plan.pick_workloads(("micro",), results):
                try:
                    results.add(workload.name, name, run_once(workload, tool, plan.size(workload) // 50)[0])
                except Failed as failure:
                    results.failures.append(f"{name} on {workload.name}: {failure}")


def callgrind(workload, tool, pairs):
    """Instructions of one run under valgrind, all threads."""
    folder = os.path.join(places.DATA, "callgrind")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    command, env = tool.wrap(workload.job(pairs), folder)
    out = os.path.join(folder, "callgrind.out")
    execute([places.program("valgrind"), "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *command], env, folder)
    total = re.search(r"^(?:totals|summary): (\d+)", places.read(out), re.M)
    return int(total.group(1)) if total else None


def instructions(results, plan):
    """Instructions an event, from two sizes of loop so that start-up cancels out; deterministic, once is enough."""
    if not places.program("valgrind"):
        results.failures.append("missing: valgrind: no instruction counts")
        return
    small, large = (20000, 60000) if plan.quick else (50000, 250000)
    for name in ("m5", "m30"):
        workload, slope = workloads.BY_NAME[name], {}
        for tool in plan.pick_tools("plain nop full-inline bare-inline sample totals", results):
            try:
                slope[tool.name] = (callgrind(workload, tool, large) - callgrind(workload, tool, small)) / (2 * (large - small))
            except (Failed, TypeError) as failure:
                results.failures.append(f"callgrind of {tool.name} on {name}: {failure}")
                continue
            results.extra["instructions", name, tool.name] = slope[tool.name] - slope.get("plain", 0)
        for alias in ("full", "bare"):
            value = results.extra.get(("instructions", name, alias + "-inline"))
            if value is not None:
                results.extra["instructions", name, alias] = value


def real(results, plan):
    names = REAL_QUICK if plan.quick else REAL
    rounds_of(results, plan, ("real",), names, plan.rounds)
    side_tools = "plain nop full sample" if plan.quick else "plain nop full bare sample totals heaptrack lttng"
    rounds_of(results, plan, ("side",), side_tools, plan.rounds, seen=False)


def size(results, plan):
    rounds_of(results, plan, ("start",), START, 10 if plan.quick else 30, seen=False)
    disk = dataclasses.replace(plan, only=plan.only or ("cpp", "jsm", "m5", "m30", "sql"))
    names = "plain count full bare"
    if not plan.quick:
        names += " sample heaptrack heaptrack-new lttng memray-native memray"
    rounds_of(results, disk, ("micro", "real"), names, 1)
    footprint(results, plan)


def footprint_kib(tool, threads, pairs):
    """Resident KiB of the footprint program under a tool, the best of three."""
    found = []
    for _ in range(3):
        folder = os.path.join(places.DATA, "footprint")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        job = workloads.Job([os.path.join(places.BIN, "footprint"), str(threads), str(pairs)])
        command, env = tool.wrap(job, folder)
        values = execute(command, env, folder).values
        found.append((values["rss_kib"], values["private_kib"], bytes_below(folder) / 1024))
    return [min(column) for column in zip(*found)]


def footprint(results, plan):
    """Weight of an idle thread (20 calls), of a busy one, and of a process with one busy thread."""
    busy = 50000 if plan.quick else 300000
    weight = {}
    for tool in plan.pick_tools(" ".join(FOOTPRINT), results):
        try:
            for shape in ((1, 20), (101, 20), (1, busy), (17, busy)):
                weight[tool.name, shape] = footprint_kib(tool, *shape)
        except (Failed, KeyError) as failure:
            results.failures.append(f"footprint of {tool.name}: {failure}")
            continue
        for kind, column in (("", 0), ("_private", 1), ("_disk", 2)):
            def more(shape):
                return weight[tool.name, shape][column] - weight["plain", shape][column]
            key = ("footprint", tool.name)
            results.extra[("thread_idle_kib" + kind, *key)] = (more((101, 20)) - more((1, 20))) / 100
            results.extra[("thread_busy_kib" + kind, *key)] = (more((17, busy)) - more((1, busy))) / 16
            results.extra[("process_kib" + kind, *key)] = more((1, busy))


def reports(tool, folder):
    """The command that prints a tool's default text report, or None."""
    first = sorted(f for f in os.listdir(folder)) if os.path.isdir(folder) else []
    if tool.ours:
        return [places.REDUCER, folder]
    if isinstance(tool, tools.Heaptrack) and first:
        return [os.path.join(os.path.dirname(tool.needs[0]), "heaptrack_print"), "-f", os.path.join(folder, first[0])]
    if isinstance(tool, tools.Memray):
        return [places.PYTHON, "-m", "memray", "summary", os.path.join(folder, "capture.bin")]
    if isinstance(tool, tools.Lttng) and places.program("babeltrace2"):
        return ["babeltrace2", os.path.join(folder, "trace")]
    return None


def reduce_once(results, workload, tool, job_size, times):
    """Records once, then reports several times; the best processor time counts (goals are an event and core)."""
    _, folder = run_once(workload, tool, job_size, keep=True)
    command = reports(tool, folder)
    runs = [execute(["sh", "-c", 'exec "$@" >report.txt', "sh", *command], None, folder) for _ in range(times)] if command else []
    if runs:
        best, events = min(r.cpu_s for r in runs), results.reduce_events[workload.name]
        key = (workload.name, tool.name)
        results.extra[("reduce_s_per_million", *key)] = best / events * 1e6
        results.extra[("reduce_million_s", *key)] = events / best / 1e6
        results.extra[("reduce_s_at_10_million", *key)] = best / events * 1e7
        results.extra[("reduce_rss_mib", *key)] = min(r.rss_kib for r in runs) / 1024
        results.extra[("reduce_lines", *key)] = len(places.read(os.path.join(folder, "report.txt")).splitlines())
    shutil.rmtree(folder, ignore_errors=True)


def reduce(results, plan):
    names = "full bare" if plan.quick else "full bare sample heaptrack heaptrack-new lttng memray memray-native"
    count = tools.BY_NAME["count"]
    for workload in plan.pick_workloads(("micro", "real"), results):
        if workload.name not in ("m30", "jsm", "cpp"):
            continue
        job_size = workload.sizes[0] if plan.quick else workload.sizes[1] * (2 if workload.name == "m30" else 1)
        _, folder = run_once(workload, count, job_size, keep=True)
        results.reduce_events[workload.name] = sum(count.both(folder))
        note(f"reduce {workload.name}: {results.reduce_events[workload.name]} events")
        for tool in plan.pick_tools(names, results):
            if tool.python and not workload.python:
                continue
            try:
                reduce_once(results, workload, tool, job_size, 2 if plan.quick else 5)
            except (Failed, OSError) as failure:
                results.failures.append(f"report of {tool.name} on {workload.name}: {failure}")


GROUPS = {"micro": micro, "real": real, "size": size, "reduce": reduce,
          "ranges": lambda results, plan: rounds_of(results, plan, ("ranges",), "plain ranges ranges-window", plan.rounds, seen=False),
          "python": lambda results, plan: rounds_of(results, plan, ("python",), "plain frames frames-off sample sample-frameless",
                                                    plan.rounds, seen=False),
          "foreign": foreign.foreign,
          "gpu": lambda results, plan: gpu.gpu(results, plan, rounds_of)}


def timed(name, results, plan):
    begin = time.monotonic()
    GROUPS[name](results, plan)
    note(f"group {name}: {time.monotonic() - begin:.0f} s")
