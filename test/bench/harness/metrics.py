# SPDX-License-Identifier: Apache-2.0
"""Figures from samples. The one rule: a metric is a function (results, workload, tool) -> number or None, named in
METRICS, and goals.tsv refers to it by that name. The best run stands for a tool (min over rounds): noise only adds."""
import statistics

from harness import workloads


def quantity(workload, sample):
    """Seconds or nanoseconds of one run, as the workload's row says."""
    name = workloads.BY_NAME[workload].quantity
    return sample.wall_s if name == "wall" else sample.values.get(name)


def best(results, workload, tool):
    values = [quantity(workload, s) for s in results.runs(workload, tool)]
    values = [v for v in values if v is not None]
    return min(values) if values else None


def pair(results, workload, tool, of=best):
    """(plain, tool), or None when one of them is missing."""
    plain, mine = of(results, workload, "plain"), of(results, workload, tool)
    return (plain, mine) if plain and mine is not None else None


def best_cpu(results, workload, tool):
    values = [s.cpu_s for s in results.runs(workload, tool)]
    return min(values) if values else None


def ratio(results, workload, tool):
    both = pair(results, workload, tool)
    return both[1] / both[0] if both else None


def median_ratio(results, workload, tool):
    """Median of the ratios to the plain run of the same round."""
    plain = results.samples.get((workload, "plain"), [])
    mine = results.samples.get((workload, tool), [])
    ratios = [quantity(workload, b) / quantity(workload, a) for a, b in zip(plain, mine) if a and b]
    return statistics.median(ratios) if ratios else None


def added_ns(results, workload, tool):
    both = pair(results, workload, tool)
    return both[1] - both[0] if both else None


def own_cpu(results, workload, tool):
    values = [s.values["cpu_ns_per_event"] for s in results.runs(workload, tool) if "cpu_ns_per_event" in s.values]
    return min(values) if values else None


def added_own_cpu_ns(results, workload, tool):
    """Processor time of the program itself, helpers not counted; little disturbed by what else runs on the machine."""
    both = pair(results, workload, tool, own_cpu)
    return both[1] - both[0] if both else None


def added_rdtsc(results, workload, tool):
    added, tick = added_ns(results, workload, tool), results.rdtsc_ns()
    return added / tick if added is not None and tick else None


def frame_walk_ns(results, workload, tool):
    """Reading, looking up and recording a Python stack: against the same tool without, whose name ends in -off."""
    without, mine = best(results, workload, tool + "-off"), best(results, workload, tool)
    return mine - without if without and mine is not None else None


def frame_walk_rdtsc(results, workload, tool):
    added, tick = frame_walk_ns(results, workload, tool), results.rdtsc_ns()
    return added / tick if added is not None and tick else None


def own_cpu_rdtsc_less_20(results, workload, tool):
    """For drains inline: all of it is processor time of the program. 20 ns are the allowance for the drain."""
    added, tick = added_own_cpu_ns(results, workload, tool), results.rdtsc_ns()
    return (added - 20) / tick if added is not None and tick else None


def own_cpu_rdtsc(results, workload, tool):
    added, tick = added_own_cpu_ns(results, workload, tool), results.rdtsc_ns()
    return added / tick if added is not None and tick else None


def cpu_ratio(results, workload, tool):
    both = pair(results, workload, tool, best_cpu)
    return both[1] / both[0] if both else None


def loop_events(workload, size):
    """Events of a micro workload, all threads: its size is the pairs of one thread."""
    return 2 * size * (2 if workload.endswith("x2") else 1)


def added_cpu_ns(results, workload, tool):
    both, size = pair(results, workload, tool, best_cpu), results.sizes.get(workload)
    return (both[1] - both[0]) * 1e9 / loop_events(workload, size) if both and size else None


def added_cpu_rdtsc(results, workload, tool):
    added, tick = added_cpu_ns(results, workload, tool), results.rdtsc_ns()
    return added / tick if added is not None and tick else None


def seen(results, workload, tool):
    """Share of the oracle's allocations that the tool's own report names."""
    count, events = results.seen.get((workload, tool)), results.events.get(workload)
    return count / events[0] if count is not None and events and events[0] else None


def seen_error(results, workload, tool):
    share = seen(results, workload, tool)
    return abs(share - 1) if share is not None else None


def disk_per_event(results, workload, tool):
    runs, events = results.runs(workload, tool), results.events.get(workload)
    return min(s.disk_bytes for s in runs) / sum(events) if runs and events and sum(events) else None


def start_ms(results, workload, tool):
    both = pair(results, workload, tool)
    return (both[1] - both[0]) * 1e3 if both else None


def added_rss_kib(results, workload, tool):
    plain, mine = results.runs(workload, "plain"), results.runs(workload, tool)
    return min(s.rss_kib for s in mine) - min(s.rss_kib for s in plain) if plain and mine else None


def extra(name):
    return lambda results, workload, tool: results.extra.get((name, workload, tool))


METRICS = {f.__name__: f for f in (ratio, median_ratio, frame_walk_ns, frame_walk_rdtsc, added_ns, added_own_cpu_ns, added_rdtsc, own_cpu_rdtsc_less_20, own_cpu_rdtsc,
                                   cpu_ratio,
                                   added_cpu_ns, added_cpu_rdtsc, seen, seen_error, disk_per_event, start_ms, added_rss_kib)}
METRICS.update({name: extra(name) for name in (
    "instructions", "thread_idle_kib", "thread_busy_kib", "process_kib", "reduce_million_s", "reduce_s_per_million",
    "reduce_s_at_10_million", "reduce_rss_mib", "reduce_lines",
    "decode_million_s", "gpu_disk_per_event", "gpu_reduce_million_s", "gpu_reduce_rss_mib",
    "html_million_s", "html_mb", "html_rss_mib", "html_frames_s",
    "foreign_million_s", "foreign_rss_mib", "foreign_times")})
