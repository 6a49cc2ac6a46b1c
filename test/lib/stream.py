# SPDX-License-Identifier: Apache-2.0
"""The single records of a log, for cases that must see them: what `tfprof-reduce --dump` prints (docs/format.md says how),
put into each thread's order.

Rule: test/reader.py and the fuzzer answer for the dump; here it is only sorted: blocks of a thread by sequence, a chunk
that was sealed taken once.
"""
from house import reduce


def value(text):
    """Of one word after `name=`: numbers as int, everything else as text."""
    try:
        return int(text, 0)
    except ValueError:
        return text


def fields(words):
    return {name: value(text) for name, _, text in (word.partition("=") for word in words)}


class Dump:
    """lanes: {(thread serial, lane): [lines of records, split]}, of these kinds only if any are named; facts: lines, split."""

    def __init__(self, path, *kinds):
        self.facts, self.slots, self.pcs, self.nodes, parts, current = [], [], {}, {}, {}, []
        for line in reduce(path, "--dump").splitlines():
            kind, _, rest = line.partition("\t")
            if kind == "record":
                if not kinds or rest.split("\t", 2)[1] in kinds:
                    current.append(line.split("\t"))
                continue
            words = line.split("\t")
            key = None
            if kind == "block":
                current = []
                key = (int(words[8]), int(words[9]), int(words[11])) if words[2] == "events" else None
            elif kind == "chunk" and int(words[2]):
                key = (int(words[3]), int(words[4]), int(words[1]))
            elif kind == "fact":
                self.facts.append(words)
            elif kind == "pc":  # index, address, module, flags
                self.pcs[int(words[1])] = (int(words[2], 0), int(words[4]))
            elif kind == "node":  # index, parent, pc
                self.nodes[int(words[1])] = (int(words[2]), int(words[3]))
            elif kind == "slot":
                self.slots.append(fields(words[1:]))
            if key and key not in parts:  # else a second copy of the same records
                parts[key] = current = []
        self.lanes = {}
        for key in sorted(parts):
            self.lanes.setdefault(key[:2], []).extend(parts[key])

    def of(self, name):
        """Records and facts of one kind as dicts with their time, in the order of time."""
        lines = [words for records in [*self.lanes.values(), self.facts] for words in records if words[2] == name]
        return sorted(({"time": int(words[1]), **fields(words[3:])} for words in lines), key=lambda record: record["time"])


def records_of(path, name):
    return Dump(path, name).of(name)


def own_calls(path):
    """(allocations, bytes) that the library itself caused by making threads; they are not in the totals."""
    dump = Dump(path, "thread_end")
    ended = {record["serial"]: record for record in dump.of("thread_end")}
    slots = [slot for slot in dump.slots if slot["serial"] not in ended]
    return (sum(record["own_allocations"] for record in [*ended.values(), *slots]),
            sum(record["own"] for record in ended.values()) + sum(slot["own_bytes"] for slot in slots))


def events_of(path):
    """{kernel thread id: [("alloc", requested size) or ("free", None)]} of the normal lane, in the thread's order."""
    dump, found = Dump(path, "alloc", "free", "thread_end"), {}
    tids = {slot["serial"]: slot["tid"] for slot in dump.slots}
    tids.update((record["serial"], record["tid"]) for record in dump.of("thread_end"))
    for (serial, lane), records in sorted(dump.lanes.items()):
        if lane == 0:
            found.setdefault(tids.get(serial), []).extend(
                ("alloc", int(words[4].partition("=")[2])) if words[2] == "alloc" else ("free", None)
                for words in records if words[2] in ("alloc", "free"))
    return found


def allocations_of(path):
    return {tid: [size for kind, size in events if kind == "alloc"] for tid, events in events_of(path).items()}
