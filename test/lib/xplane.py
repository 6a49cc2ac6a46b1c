# SPDX-License-Identifier: Apache-2.0
"""Reads the XSpace files that TensorFlow's profiler writes: the host's events with name, start and duration in ns.

Rule: a reader of its own for the few fields it needs (protocol buffers by hand), so that nothing of the framework is asked.
"""
import glob

PLANES, PLANE_NAME, LINES, EVENT_METADATA, STAT_METADATA, PLANE_STATS = 1, 2, 3, 4, 5, 6
LINE_NAME, LINE_TIME, EVENTS = 2, 3, 4
EVENT_NAME, OFFSET_PS, DURATION_PS = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: ints, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            length = 8 if kind == 1 else 4
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def first(data, number, otherwise=None):
    return next((value for found, value in fields(data) if found == number), otherwise)


def names_of(plane, number):
    """id -> name of a metadata map."""
    found = {}
    for key, entry in fields(plane):
        if key == number:
            found[first(entry, 1, 0)] = first(first(entry, 2, b""), 2, b"").decode(errors="replace")
    return found


def plane_number(plane, name, wanted):
    """A numeric stat of the plane."""
    names = names_of(plane, STAT_METADATA)
    for key, stat in fields(plane):
        if key == PLANE_STATS and names.get(first(stat, 1, 0)) == wanted:
            return first(stat, 4, first(stat, 3, 0))  # int64, or uint64
    return None


def host_events(folder):
    """The events of the host's threads of the one session under `folder`, and when it began and ended (ns since 1970)."""
    paths = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
    assert len(paths) == 1, paths
    with open(paths[0], "rb") as file:
        space = file.read()
    planes = {first(plane, PLANE_NAME, b"").decode(): plane for key, plane in fields(space) if key == PLANES}
    host, task = planes["/host:CPU"], planes.get("Task Environment", b"")
    begin, end = (plane_number(task, "", f"profile_{which}_time") for which in ("start", "stop"))
    names, events = names_of(host, EVENT_METADATA), []
    for key, line in fields(host):
        if key != LINES or first(line, LINE_NAME, b"") == b"python":
            pass
        if key != LINES:
            continue
        base = first(line, LINE_TIME, 0)
        base += begin if begin and base < 10 ** 18 else 0  # newer files: relative to the start
        for number, event in fields(line):
            if number == EVENTS:
                events.append((names[first(event, EVENT_NAME, 0)], base + first(event, OFFSET_PS, 0) // 1000,
                               first(event, DURATION_PS, 0) // 1000))
    return events, begin, end
