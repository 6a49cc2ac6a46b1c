# SPDX-License-Identifier: Apache-2.0
"""The records of a log, in the order in which each thread made them, for cases that must see single records.

Rule: it reads what docs/format.md says and trusts the file otherwise: damage is the reader's business. Addresses and slack are
left out (their codings take a page each). Facts come as records, too, of thread 0.
"""
import ctypes
import ctypes.util
import struct

SYNC = struct.pack("<Q", 0xb10cf97e5a5e1dd3)
SCHEMA, EVENTS, CHUNK, THREADS, FACTS = 1, 2, 16, 17, 18
CONST, VARINT, DELTA, BYTES = range(4)
WIDTHS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q"}
OWN_OFFSET = 48 + 2 * 64 + 2 * 32  # of own_allocations in a thread slot
HEADER_BYTES, CHUNK_BYTES, MASK = 96, 64, (1 << 64) - 1

_lz4 = None


def unpack(codec, data, raw_bytes):
    global _lz4
    if codec == 0:
        return data
    if not _lz4:
        _lz4 = ctypes.CDLL(ctypes.util.find_library("lz4") or "liblz4.so.1")
    room = ctypes.create_string_buffer(raw_bytes)
    got = _lz4.LZ4_decompress_safe(data, room, len(data), raw_bytes)
    assert got == raw_bytes, f"LZ4: {got} of {raw_bytes} bytes"
    return room.raw


def varints(data, count):
    """All varints of a column; at most `count`."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        if byte & 128:
            shift += 7
            continue
        values.append(value)
        value = shift = 0
    return values[:count]


def column(encoding, data, count):
    if encoding == BYTES:
        return list(data[:count])
    values = varints(data, count)
    if encoding == CONST:
        return values * count
    if encoding == DELTA:
        before, out = 0, []
        for value in values:
            before = (before + (value >> 1 ^ -(value & 1))) & MASK
            out.append(before)
        return out
    return values


class Schema:
    def __init__(self, text):
        self.records, self.fields = {}, {}
        for line in text.decode().splitlines():
            words = line.split("\t")
            if words[0] == "record":
                self.records[int(words[1])] = (words[2], words[3], int(words[4]))
                self.fields.setdefault(int(words[1]), [])
            elif words[0] == "field":
                offset = int(words[7]) if words[7].isdigit() else 0
                self.fields.setdefault(int(words[1]), []).append((words[3], words[4], offset))


class Stream:
    """Facts, threads, and lanes: {(serial, lane): [dict of fields, with record and time]}. only: skip blocks without any
    record of this kind."""

    def __init__(self, path, only=None):
        with open(path, "rb") as file:
            self.data = file.read()
        self.page, = struct.unpack_from("<I", self.data, 20)
        self.slot_bytes, = struct.unpack_from("<I", self.data, 200)
        self.file_end, = struct.unpack_from("<Q", self.data, 1024)
        self.dropped_from, = struct.unpack_from("<Q", self.data, 1024 + 13 * 8)
        self.blocks = list(self.scan())
        self.schema = Schema(next(self.payload(b) for b in self.blocks if b["type"] == SCHEMA))
        self.only = next((tag for tag, record in self.schema.records.items() if record[0] == only), None)
        self.facts = [fact for b in self.blocks if b["type"] == FACTS for fact in self.read_facts(b)]
        self.lanes = self.read_lanes()
        self.tids = self.read_threads()

    def scan(self):
        at = self.data.find(SYNC, self.page if self.data.find(SYNC) >= self.page else 0)
        while at >= 0:
            names = "header_bytes type codec is_live encoded raw first thread lane shift sequence first_time last_time records"
            block = dict(zip(names.split(), struct.unpack_from("<IHBBQQQIHHQQQI", self.data, at + 8)))
            block["at"] = at + block["header_bytes"]
            if at % 8 == 0 and block["header_bytes"] == HEADER_BYTES and block["at"] + block["encoded"] <= len(self.data):
                yield block
                at = self.data.find(SYNC, block["at"] + block["encoded"])
            else:
                at = self.data.find(SYNC, at + 8)

    def payload(self, block):
        return unpack(block["codec"], self.data[block["at"]:block["at"] + block["encoded"]], block["raw"])

    def read_facts(self, block):
        at, end = block["at"], block["at"] + block["encoded"] - 16
        while at <= end:
            size, tag, state, time = struct.unpack_from("<IHHQ", self.data, at)
            if not size:
                return
            if state == 1 and tag in self.schema.records:
                yield self.fact(tag, time, at + 16)
            at += size

    def fact(self, tag, time, at):
        found = {"record": self.schema.records[tag][0], "time": time}
        for name, kind, _ in self.schema.fields[tag]:
            if kind == "str":
                length, = struct.unpack_from("<I", self.data, at)
                value, at = self.data[at + 4:at + 4 + length], at + 4 + length
            else:
                value, at = struct.unpack_from("<Q", self.data, at)[0], at + 8
            found[name] = value
        return found

    def read_events(self, block):
        raw = self.payload(block)
        _, columns = struct.unpack_from("<II", raw)
        if self.only and self.only not in raw[24:24 + block["records"]]:
            return  # the first column holds the tags, a byte each
        at, tags, times, values = 8, [], [], {}
        for _ in range(columns):
            tag, field, encoding, count, size = struct.unpack_from("<HHBxxxII", raw, at)
            data, at = raw[at + 16:at + 16 + size], at + 16 + size
            if encoding > BYTES:
                continue
            decoded = column(encoding, data, count)
            if tag == 0 and field == 0:
                tags = decoded
            elif tag == 0:
                times = [time << block["shift"] for time in decoded]
            else:
                values.setdefault(tag, {})[field] = iter(decoded)
        for tag, time in zip(tags, times):
            record = {"record": self.schema.records[tag][0], "time": time}
            for field, (name, _, _) in enumerate(self.schema.fields[tag]):
                if field in values.get(tag, {}):
                    record[name] = next(values[tag][field])
            yield record

    def read_chunk(self, block, used):
        at, end = block["at"] + CHUNK_BYTES, block["at"] + CHUNK_BYTES + used
        while at < end:
            word, = struct.unpack_from("<Q", self.data, at)
            name, _, size = self.schema.records[word & 255]
            record = {"record": name, "time": word >> 8}
            for field, kind, offset in self.schema.fields[word & 255]:
                record[field], = struct.unpack_from("<" + WIDTHS[kind], self.data, at + offset)
            yield record
            at += size

    def read_lanes(self):
        sealed, parts = set(), []
        for block in self.blocks:
            if block["type"] == EVENTS and block["at"] >= self.dropped_from:
                key = (block["thread"], block["lane"], block["sequence"])
                if key not in sealed:
                    sealed.add(key)
                    parts.append((key, self.read_events(block)))
        for block in self.blocks:
            if block["type"] != CHUNK:
                continue
            sequence, used, thread, lane = struct.unpack_from("<QQIH", self.data, block["at"])
            if used and (thread, lane, sequence) not in sealed:
                parts.append(((thread, lane, sequence), self.read_chunk(block, used)))
        lanes = {}
        for key, records in sorted(parts, key=lambda part: part[0]):
            lanes.setdefault(key[:2], []).extend(records)
        return lanes

    def read_threads(self):
        """serial -> kernel thread id."""
        tids = {}
        for block in self.blocks:
            if block["type"] == THREADS:
                for at in range(block["at"], block["at"] + block["encoded"] - self.slot_bytes + 1, self.slot_bytes):
                    state, serial, tid = struct.unpack_from("<QII", self.data, at)
                    if state:
                        tids[serial] = tid
        for records in self.lanes.values():
            for record in records:
                if record["record"] == "thread_end":
                    tids[record["serial"]] = record["tid"]
        return tids


def own_calls(path):
    """(allocations, bytes) that the library itself caused by making threads; they are not in the totals."""
    stream, own = Stream(path, only="thread_end"), [0, 0]
    ended = {record["serial"]: record for records in stream.lanes.values() for record in records
             if record["record"] == "thread_end"}
    for record in ended.values():
        own = [own[0] + record["own_allocations"], own[1] + record["own"]]
    for block in stream.blocks:
        if block["type"] == THREADS:
            for at in range(block["at"], block["at"] + block["encoded"] - stream.slot_bytes + 1, stream.slot_bytes):
                if struct.unpack_from("<QI", stream.data, at)[1] not in ended:
                    calls, size = struct.unpack_from("<QQ", stream.data, at + OWN_OFFSET)
                    own = [own[0] + calls, own[1] + size]
    return tuple(own)


def records_of(path, name):
    """All records and facts of one kind, by time."""
    stream = Stream(path, only=name)
    found = [record for records in stream.lanes.values() for record in records if record["record"] == name]
    return sorted(found + [fact for fact in stream.facts if fact["record"] == name], key=lambda record: record["time"])


def events_of(path):
    """{kernel thread id: [("alloc", requested size) or ("free", None)]} of the normal lane, in the thread's order."""
    stream, found = Stream(path), {}
    for (serial, lane), records in sorted(stream.lanes.items()):
        if lane == 0:
            found.setdefault(stream.tids.get(serial), []).extend(
                (record["record"], record.get("requested")) for record in records if record["record"] in ("alloc", "free"))
    return found


def allocations_of(path):
    return {tid: [size for kind, size in events if kind == "alloc"] for tid, events in events_of(path).items()}
