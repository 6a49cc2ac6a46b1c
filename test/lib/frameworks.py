# SPDX-License-Identifier: Apache-2.0
"""Real frameworks for the cases, and what our logs say of them, read record by record.

Rule: sums are made here anew from single records, so that a table of the reducer can be held against them; a framework
that scripts/setup should have installed and that cannot be imported is a failure, never a skip.
"""
import glob
import os
import re
import statistics
import subprocess

from house import REDUCE, TOP, Failure, check, clean_environment, equal, scratch, table

WHEELS = os.path.join(TOP, ".venv/bin/python")
SYSTEM = "/usr/bin/python3"
OLDEST_TORCH = (1, 13)  # that is supported
SCRIPTS = os.path.join(TOP, "test/frameworks")


def has_system_torch():
    """Not every distribution has such a package, and that of Ubuntu 22.04 (1.8) is too old."""
    try:
        with open("/usr/lib/python3/dist-packages/torch/version.py", encoding="utf-8") as file:
            found = re.search(r"__version__ = '(\d+)\.(\d+)", file.read())
    except OSError:
        return False
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_TORCH


HAS_SYSTEM_TORCH = has_system_torch()


def script(name):
    return os.path.join(SCRIPTS, name)


def stand_ins():
    """A folder with stand-ins for the libraries that PyTorch's only wheel needs and this machine lacks; "" = lacks none."""
    found = glob.glob(os.path.join(TOP, ".venv/lib/python3*/site-packages/torch/lib"))
    check(found, "PyTorch's wheel is not in .venv: scripts/setup test installs it")
    folder = scratch("stand-ins")
    libraries = sorted(path for path in glob.glob(found[0] + "/*.so*") if not os.path.isdir(path))
    subprocess.run(["python3", os.path.join(TOP, "test/lib/stub_libraries.py"), folder, *libraries], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def version(python, module, env=None):
    """The version of a module as that Python imports it."""
    done = subprocess.run([python, "-W", "ignore", "-c", f"import {module}; print({module}.__version__)"],
                          env=clean_environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    if done.returncode:
        raise Failure(f"{python}: import {module}: {done.stderr.decode(errors='replace')[-800:]}")
    return done.stdout.decode().split()[-1]


class Records:
    """The records of one log, in time order: list of (ticks, kind, {field: value}); names resolved; by thread."""

    def __init__(self, path):
        done = subprocess.run([REDUCE, "--dump", path], env=clean_environment(None), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)
        check(done.returncode in (0, 2), f"--dump {path}: {done.stderr.decode(errors='replace')[-500:]}")
        self.names, self.facts, self.threads = {}, [], {}
        parts, part = {}, []  # (thread, lane, sequence) -> records; a chunk that was drained since says the same again
        for line in done.stdout.split(b"\n"):
            words = line.decode(errors="replace").split("\t")
            if words[0] == "block" and words[2] == "events":
                part = parts[int(words[8]), int(words[9]), int(words[11])] = []
            elif words[0] == "chunk":
                part = parts.setdefault((int(words[3]), int(words[4]), int(words[1])), [])
                part = part if not part else []
            elif words[0] == "fact":
                fields = dict(word.split("=", 1) for word in words[3:] if "=" in word)
                self.facts.append((words[2], fields))
                if words[2] == "op_name":
                    self.names[int(fields["id"])] = fields["text"]
            elif words[0] == "record":
                fields = {key: int(value, 0) for key, _, value in (word.partition("=") for word in words[3:])}
                part.append((int(words[1]), words[2], fields))
        for (thread, lane, _), records in sorted(parts.items()):
            self.threads.setdefault((thread, lane), []).extend(records)

    def all(self, kind):
        return [fields for records in self.threads.values() for _, name, fields in records if name == kind]

    def framework(self, name):
        return [fields for kind, fields in self.facts if kind == "framework" and fields["name"] == name]


class Op:
    def __init__(self, begin, name, fields):
        self.begin, self.name, self.scope, self.key, self.source = begin, name, fields["scope"], fields["key"], fields["source"]
        self.end = self.sequence = self.shapes = None
        self.forward_thread = self.children = 0
        self.parent = None
        self.blocks = []


def ops_of(records, names):
    """The ops of one thread's records, in the order of their begins, each with what belongs to it. Ends must nest."""
    found, stack, blocks = [], [], []
    for ticks, kind, fields in records:
        if kind == "op_begin":
            op = Op(ticks, names.get(fields["name"], ""), fields)
            op.parent = stack[-1] if stack else None
            stack.append(op)
            found.append(op)
        elif kind == "op_link":
            stack[-1].sequence, stack[-1].forward_thread = fields["sequence"], fields["forward_thread"]
        elif kind == "op_inputs":
            stack[-1].shapes = names[fields["shapes"]]
        elif kind == "block":
            blocks.append((ticks, fields))
            if stack:
                stack[-1].blocks.append(fields)
        elif kind == "op_end":
            check(stack and stack[-1].key == fields["key"], f"an op_end at {ticks} is not the innermost op's")
            op = stack.pop()
            op.end = ticks
            if stack:
                stack[-1].children += op.end - op.begin
    check(not stack, f"{len(stack)} ops were not ended: {[op.name for op in stack][:5]}")
    return found, blocks


def sums_of(logs):
    """Of all ops that are no ranges: (source, name) -> [occurrences, total, self, shortest, longest, each one, clock's ticks a second]."""
    found = {}
    for log in logs:
        records = Records(log.path)
        for place, of_thread in records.threads.items():
            for op in ops_of(of_thread, records.names)[0] if place[1] == 0 else []:
                if op.scope & 7 == 7:
                    continue
                outer, parent = True, op.parent
                while parent is not None:
                    outer = outer and (parent.source, parent.name, parent.scope & 7 == 7) != (op.source, op.name, False)
                    parent = parent.parent
                took = op.end - op.begin
                row = found.setdefault((op.source, op.name), [0, 0, 0, took, took, [], log.clock_hz])
                row[:5] = (row[0] + 1, row[1] + (took if outer else 0), row[2] + took - op.children, min(row[3], took), max(row[4], took))
                row[5].append(took)
    return found


def compare_op_stats(folder, logs, sources, what):
    """op_stats against sums made here from single records. sources: number -> name of those to compare. Its rows."""
    rows = table(folder, "op_stats")
    told = {}
    for row in (row for row in rows if row["occurrences"]):
        name = row["name"] if "::" in row["name"] or row["type"] in row["name"] else f"{row['name']}:{row['type']}"
        told[row["source"], name if row["source"] != "annotation" else f"{row['name']}:{row['type']}"] = row
    wanted = {(sources[source], name): row for (source, name), row in sums_of(logs).items() if source in sources}
    ours = {key: row["occurrences"] for key, row in told.items() if key[0] in sources.values() and row["occurrences"]}
    equal(sorted(ours.items() - {(key, row[0]) for key, row in wanted.items()}),
          sorted({(key, row[0]) for key, row in wanted.items()} - ours.items()), f"{what}: occurrences by op that differ")
    for key, (count, *ticks_of, each, hz) in wanted.items():
        if count > 1:
            expected = statistics.stdev(each) * 1e9 / hz
            check(abs(float(told[key]["deviation_ns"] or -1) - expected) <= expected * 1e-3 + 10,
                  f"{what}: deviation_ns of {key} is {told[key]['deviation_ns']}, the records say {expected}")
        for column, ticks in zip(("total_ns", "self_ns", "min_ns", "max_ns"), ticks_of):
            expected = ticks * 1e9 / hz
            check(abs(told[key][column] - expected) <= expected * 1e-3 + 10 * count,
                  f"{what}: {column} of {key} is {told[key][column]}, the records say {expected}")
    equal([row["rank"] for row in rows], list(range(1, len(rows) + 1)), f"{what}: ranks")
    check(abs(float(rows[-1]["host_cumulative_percent"]) - 100) < 0.01, f"{what}: shares do not add up to 100")
    return rows
