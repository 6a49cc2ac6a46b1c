# SPDX-License-Identifier: Apache-2.0
"""Holds what tfprof says of a run against the two oracles that stood around it, process by process.

Rule: equal means equal. Where threads raced, the inner and the outer oracle differ, and the answer must lie between
them; where they agree it must be theirs. Batched totals are exact to 64 KiB a thread and are held to just that.
"""
from house import Failure, check, summary
from stream import own_calls

CLOCK_NS = 3000          # 1 us of clock residual and 1 us of time shift in heap blocks, rounded up
CLOCK_PPM = 1000         # CLOCK_MONOTONIC is steered, and a process of some ms cannot measure its counter's rate better
BATCH_BYTES = 64 * 1024  # TOTALS=batched, a thread
EXCHANGED_BYTES = 16 * 1024  # times are kept to 1 us: of two threads an allocation and a release closer than that may change places
HIGH_STEP = 16 * 1024    # oracle.c
NEAR_BYTES = 256 * 1024  # oracle.c
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


def compare_counts(row, inner, outer, columns, own, who):
    """own: allocations and bytes that the library made by starting a thread; the oracles saw them, the log keeps them out."""
    calls, size = own  # requested bytes; a usable size is at most 24 bytes and a quarter more (size classes of jemalloc)
    allowed = {"allocations": (calls, calls), "requested": (size, size), "allocated": (size, size + 24 * calls + size // 4)}
    wrong = []
    for column, name in columns.items():
        low, high = sorted((getattr(inner, name), getattr(outer, name)))
        least, most = low - allowed.get(name, (0, 0))[1], high - allowed.get(name, (0, 0))[0]
        if not isinstance(row[column], int) or not least <= row[column] <= most:
            wrong.append(f"{column} {row[column]}, oracle {least}" + ("" if least == most else f" to {most}"))
    check(not wrong, f"{who}: {'; '.join(wrong)}")


def compare_oracles(inner, outer, was_killed, who):
    """Without threads both saw the same calls: one more inside would be ours, one less would be swallowed. Of a process that was
    killed (pip gives rustc half a second to tell its version) only the inner one may have seen the last."""
    check(not inner.dropped and not outer.dropped, f"{who}: the oracle itself lost events")
    if inner.threads > 1 or outer.threads > 1:
        return
    ahead = inner.allocations - outer.allocations + outer.frees - inner.frees + inner.maps - outer.maps + outer.unmaps - inner.unmaps
    if was_killed and ahead == 1:
        return
    wrong = [f"{name} {getattr(outer, name)} before us, {getattr(inner, name)} behind us"
             for name in [*COUNTS.values(), *MAPS.values()] if getattr(inner, name) != getattr(outer, name)]
    check(not wrong, f"{who}: we add or swallow calls: {'; '.join(wrong)}")


def is_time(log, time_ns, first, last, who):
    """first, last: (CLOCK_MONOTONIC, counter) of the oracles around the moment. One of the two clocks must hold it tightly,
    CLOCK_MONOTONIC also as far as the reading that ties it to the counter and the counter's rate can be known."""
    at = log.mono_ns + time_ns
    slack = CLOCK_NS + log.width_ticks * 1_000_000_000 // log.clock_hz + time_ns * CLOCK_PPM // 1_000_000
    ticks = log.ticks + time_ns * log.clock_hz // 1_000_000_000
    ticks_slack = CLOCK_NS * log.clock_hz // 1_000_000_000
    by_mono = first[0] - CLOCK_NS <= at <= last[0] + CLOCK_NS
    by_ticks = first[1] - ticks_slack <= ticks <= last[1] + ticks_slack
    check((by_mono or by_ticks) and first[0] - slack <= at <= last[0] + slack,
          f"{who}: peak at {at} ns (monotonic), oracle {first[0]} to {last[0]}: {(at - first[0]) / 1e3:+.1f} us from the first; "
          f"counter {ticks}, oracle {first[1]} to {last[1]}; {time_ns} ns after the log's begin, bracketed to {log.width_ticks} ticks, "
          f"{log.first_clock_hz} Hz at first, {log.clock_hz} at last")


def compare_exact_peak(row, log, inner, outer, curve, room, who):
    """room: bytes by which a curve may begin elsewhere than the oracle's (fork of a process with threads), else 0."""
    low, high = getattr(outer, f"{curve}_peak") - room, getattr(inner, f"{curve}_peak") + room
    check(low <= row["peak_bytes"] <= high, f"{who}: peak_bytes {row['peak_bytes']}, oracle {low} to {high}")
    if low != high or not high or high == inner.inherited:
        return
    first, last = ((getattr(one, f"{curve}_peak_mono_ns"), getattr(one, f"{curve}_peak_tsc")) for one in (inner, outer))
    is_time(log, row["peak_time_ns"], first, last, who)


def compare_batched_peak(row, log, inner, outer, threads, who):
    room = BATCH_BYTES * max(1, threads)
    check(outer.all_peak - room <= row["peak_bytes"] <= inner.all_peak + room,
          f"{who}: peak_bytes {row['peak_bytes']}, oracle {inner.all_peak}, allowed +- {room}")
    if inner.all_peak <= 4 * room or room > NEAR_BYTES:
        return  # the curve is as flat as the tolerance: any time is right
    at = log.mono_ns + row["peak_time_ns"]
    reached = [when for live, when in inner.highs if live >= row["peak_bytes"] - room - HIGH_STEP]
    first, last = reached[0] if reached else 0, max(inner.all_near_mono_ns, outer.all_near_mono_ns)
    if inner.all_live + NEAR_BYTES >= inner.all_peak:
        last = 1 << 63  # it never left the peak's neighbourhood
    slack = CLOCK_NS + row["peak_time_ns"] * CLOCK_PPM // 1_000_000
    check(first - slack <= at <= last + slack, f"{who}: peak at {at} ns, oracle was near it from {first} to {last}")


def compare_process(log, inner, outer, is_batched, curve, threads, who):
    """threads: of the whole family, since a fork child begins with what its parent's threads had not yet added up."""
    compare_oracles(inner, outer, log.end_kind == "none", who)
    rows = summary(log.path)
    check(len(rows) == 1, f"{who}: memory.summary has {len(rows)} heap rows of scope process")
    own = own_calls(log.path) if inner.threads > 1 else (0, 0)
    compare_counts(rows[0], inner, outer, COUNTS, own, who)
    if is_batched:
        compare_batched_peak(rows[0], log, inner, outer, threads, who)
    else:
        has_room = curve == "all" and inner.inherited and threads > 1
        room = BATCH_BYTES * threads if has_room else 24 * own[0] + 5 * own[1] // 4
        room += EXCHANGED_BYTES * (inner.threads - 1)
        compare_exact_peak(rows[0], log, inner, outer, curve, room, who)
    if inner.maps + inner.unmaps:
        maps = summary(log.path, allocator="mmap")
        check(len(maps) == 1, f"{who}: memory.summary has {len(maps)} mmap rows")
        compare_counts(maps[0], inner, outer, MAPS, (0, 0), who + " mmap")


def compare(run, is_batched, curve):
    """Every process of the run. Returns (calls, processes, threads) that were compared."""
    problems, pairs = [], pair(run)
    threads = max(inner.threads for _, inner, _ in pairs)
    for log, inner, outer in pairs:
        try:
            compare_process(log, inner, outer, is_batched, curve, threads, f"{log.command} pid {log.pid} image {log.exec_count}")
        except Failure as failure:
            problems.append(str(failure))
    check(not problems, "\n  ".join([f"{len(problems)} of {len(pairs)} processes differ"] + problems[:12]))
    return sum(inner.allocations + inner.frees for _, inner, _ in pairs), len(pairs), threads
