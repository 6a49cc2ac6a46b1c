# SPDX-License-Identifier: Apache-2.0
"""Holds what tfprof says of a run against the two oracles that stood around it, process by process.

Rule: equal means equal. Where threads raced, the inner and the outer oracle differ, and the answer must lie between
them; where they agree it must be theirs. Batched totals are exact to 64 KiB a thread and are held to just that.
"""
from house import Failure, check, summary

CLOCK_NS = 3000          # 1 us of clock residual and 1 us of time shift in heap blocks, rounded up
BATCH_BYTES = 64 * 1024  # TOTALS=batched, a thread
HIGH_STEP = 16 * 1024    # oracle.c
COUNTS = {"allocations": "allocations", "frees": "frees", "requested_bytes": "requested",
          "allocated_bytes": "allocated", "freed_bytes": "freed"}
MAPS = {"allocations": "maps", "frees": "unmaps", "allocated_bytes": "mapped", "freed_bytes": "unmapped"}


def pair(run):
    """[(log, inner, outer)] for every process image that made a call."""
    logs = run.logs()
    inner = [one for one in run.oracles("inner") if one.allocations + one.frees + one.maps]
    outer = run.oracles("outer")
    pairs = []
    for one in inner:
        def images(of):
            return [other for other in of if (other.pid, other.start) == (one.pid, one.start)]
        place = images(inner).index(one)
        mine, partner = images(logs), images([o for o in outer if o.allocations + o.frees + o.maps])
        check(place < len(mine), f"pid {one.pid}: {one.allocations} allocations, but no log of this process image "
              f"(image {place + 1} of {len(images(inner))}, {len(mine)} logs)")
        check(place < len(partner), f"pid {one.pid}: no outer oracle")
        pairs.append((mine[place], one, partner[place]))
    check(pairs, "the oracle saw no process")
    return pairs


def between(value, one, other):
    return min(one, other) <= value <= max(one, other)


def compare_counts(row, inner, outer, columns, who):
    wrong = [f"{column} {row[column]}, oracle {getattr(inner, name)}" +
             ("" if getattr(inner, name) == getattr(outer, name) else f" to {getattr(outer, name)}")
             for column, name in columns.items()
             if not between(row[column], getattr(inner, name), getattr(outer, name))]
    check(not wrong, f"{who}: {'; '.join(wrong)}")


def compare_oracles(inner, outer, who):
    """Without threads both saw the same calls: one more inside would be ours, one less would be swallowed."""
    check(not inner.dropped and not outer.dropped, f"{who}: the oracle itself lost events")
    if inner.threads > 1 or outer.threads > 1:
        return
    wrong = [f"{name} {getattr(outer, name)} before us, {getattr(inner, name)} behind us"
             for name in [*COUNTS.values(), *MAPS.values()] if getattr(inner, name) != getattr(outer, name)]
    check(not wrong, f"{who}: we add or swallow calls: {'; '.join(wrong)}")


def compare_exact_peak(row, log, inner, outer, curve, who):
    low, high = getattr(outer, f"{curve}_peak"), getattr(inner, f"{curve}_peak")
    check(between(row["peak_bytes"], low, high), f"{who}: peak_bytes {row['peak_bytes']}, oracle {low} to {high}")
    if low != high or not high:
        return
    at = log.mono_ns + row["peak_time_ns"]
    first, last = getattr(inner, f"{curve}_peak_mono_ns"), getattr(outer, f"{curve}_peak_mono_ns")
    check(first - CLOCK_NS <= at <= last + CLOCK_NS, f"{who}: peak at {at} ns (monotonic), oracle {first} to {last}: "
          f"{(at - first) / 1e3:+.1f} us from the first")


def compare_batched_peak(row, log, inner, outer, who):
    room = BATCH_BYTES * max(1, inner.threads)
    check(outer.all_peak - room <= row["peak_bytes"] <= inner.all_peak + room,
          f"{who}: peak_bytes {row['peak_bytes']}, oracle {inner.all_peak}, allowed +- {room}")
    if inner.all_peak <= 4 * room:
        return  # the curve is as flat as the tolerance: any time is right
    at = log.mono_ns + row["peak_time_ns"]
    reached = [when for live, when in inner.highs if live >= row["peak_bytes"] - room - HIGH_STEP]
    first, last = reached[0] if reached else 0, max(inner.all_near_mono_ns, outer.all_near_mono_ns)
    if room > 256 * 1024:
        last = 1 << 63  # the oracle notes "near the peak" to 256 KiB only
    check(first - CLOCK_NS <= at <= last + CLOCK_NS,
          f"{who}: peak at {at} ns, oracle was near it from {first} to {last}")


def compare(run, is_batched, curve, has_maps=True):
    """Every process of the run. Returns (calls, processes, threads) that were compared."""
    calls, most_threads, problems = 0, 0, []
    pairs = pair(run)
    for log, inner, outer in pairs:
        who = f"{log.command} pid {log.pid} image {log.exec_count}"
        try:
            compare_oracles(inner, outer, who)
            rows = summary(log.path)
            check(len(rows) == 1, f"{who}: memory.summary has {len(rows)} heap rows of scope process")
            compare_counts(rows[0], inner, outer, COUNTS, who)
            if is_batched:
                compare_batched_peak(rows[0], log, inner, outer, who)
            else:
                compare_exact_peak(rows[0], log, inner, outer, curve, who)
            if has_maps and inner.maps + inner.unmaps:
                maps = summary(log.path, allocator="mmap")
                check(len(maps) == 1, f"{who}: memory.summary has {len(maps)} mmap rows")
                compare_counts(maps[0], inner, outer, MAPS, who + " mmap")
        except Failure as failure:
            problems.append(str(failure))
        calls += inner.allocations + inner.frees
        most_threads = max(most_threads, inner.threads)
    check(not problems, "\n  ".join([f"{len(problems)} of {len(pairs)} processes differ"] + problems[:12]))
    return calls, len(pairs), most_threads
