#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of .tfp logs, written from docs/format.md alone: prints what `tfprof-reduce --dump` prints.

Rule: shares no code and no generated file with the reducer, so that the page is what both were written from.
"""
import struct
import sys

MASK = (1 << 64) - 1
SYNC = (0xB10CF97E5A5E1DD3).to_bytes(8, "little")
KINDS = {1: "schema", 2: "events", 3: "end", 4: "packed_nodes", 16: "chunk", 17: "threads", 18: "facts", 19: "pcs", 20: "nodes"}
# name, offset and struct letter of the header's fields that are printed
HEADER = """header_bytes 12 I|byte_order 16 I|page_bytes 20 I|features_compat 24 Q|features_warn 32 Q|features_incompat 40 Q|log_id 48 Q
parent_log_id 56 Q|job_id 64 16s|boot_id 80 16s|pid_namespace 96 Q|pid 104 I|parent_pid 108 I|process_start 112 Q
parent_start 120 Q|exec_count 128 I|utc_offset_s 132 I|clock_kind 136 I|architecture 140 I|clock_hz 144 Q|origin.ticks 152 Q
origin.raw_ns 160 Q|origin.monotonic_ns 168 Q|origin.realtime_ns 176 Q|origin.width_ticks 184 Q|live_offset 192 I
live_bytes 196 I|thread_slot_bytes 200 I|loss_count 204 I|flags 208 I""".replace("\n", "|").split("|")
LIVE = ("file_end pcs_count nodes_count threads_count live_bytes peak_bytes peak_time end_kind end_status end_time heap_mode "
        "drained_bytes drain_ticks dropped_from helper_beat own_bytes inherited_bytes early_calls clock_hz "
        "children_refused children_unmade mapped_end given_up_bytes programs_unfollowed").split()
HEAP = "allocations frees requested_bytes allocated_bytes freed_bytes unknown_frees unknown_freed_bytes".split()
MAP = "maps unmaps mapped_bytes unmapped_bytes".split()
ONLY = {5: (1, 3), 6: (0, 1), 8: (1, 3)}  # the column, tag and field, that an encoding is for
WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i64": 8}

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def text(data):
    return "".join(chr(b) if 0x20 <= b <= 0x7E and b != 0x5C else "\\x%02x" % b for b in data)


def lz4(data, size):
    out, at = bytearray(), 0

    def length(nibble, place):
        total, more = nibble, 255
        while nibble == 15 and more == 255:
            more, place = data[place], place + 1
            total += more
        return total, place

    while True:
        token = data[at]
        literals, at = length(token >> 4, at + 1)
        if literals > len(data) - at:
            raise ValueError("literals")
        out += data[at:at + literals]
        at += literals
        if at == len(data):
            break
        offset, at = data[at] | data[at + 1] << 8, at + 2
        copied, at = length(token & 15, at)
        if not 0 < offset <= len(out):
            raise ValueError("offset")
        for _ in range(copied + 4):
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError("size")
    return bytes(out)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value & MASK, at


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def steps(data, count):
    values, at, last = [], 0, 0
    while at < len(data):
        kept, step, at = data[at] >> 4, data[at] & 15, at + 1
        if step == 14:
            step, at = 14 + data[at], at + 1
        elif step == 15:
            step, at = varint(data, at)
            step = unzigzag(step)
        elif step == 0:
            kept *= 16
        values += [last] * kept
        last = last + step & MASK
        values += [last] * (step != 0)
    return values + [last] * (count - len(values))


def sparse(data, at, usual, count):
    values = []
    while at < len(data):
        rows, at = varint(data, at)
        value, at = varint(data, at)
        values += [usual] * rows + [value]
    return values + [usual] * (count - len(values))


def column(encoding, data, count):
    if encoding == 3:
        return list(data)
    if encoding == 6:
        return steps(data, count)
    if encoding == 7:
        usual, at = varint(data, 0)
        return sparse(data, at, usual, count)
    values, at, last = [], 0, 0
    if encoding == 0:
        return [varint(data, 0)[0]] * count
    for _ in range(count):
        value, at = varint(data, at)
        last = (last + unzigzag(value)) & MASK if encoding == 2 else value
        values.append(last)
    return values


def heap_addresses(data, tags, sizes):
    """Addresses of records 1 (alloc) and 2 (free) in order; a block is [address, class, number of its allocation or None, of its
    release or None]."""
    out, at, made, gone, size_at = {1: [], 2: []}, 0, [], [], 0
    lists, next_same = [[] for _ in range(257)], [0] * 257
    last_free = following = last_released = 0
    for tag in tags:
        if tag not in (1, 2):
            continue
        code, at = varint(data, at)
        if tag == 1:
            size, size_at = sizes[size_at], size_at + 1
            chunk = (max(size, 24) + 23 & MASK) & ~15
            kind = min(chunk // 16, 256)
            address = 0
            if code % 2:
                address = following + unzigzag(code >> 1) * 16 & MASK
            elif code == 2:
                address = next_same[kind]
            elif code == 4:
                step, at = varint(data, at)
                address = following + unzigzag(step) & MASK
            else:
                number = len(gone) - (code - 6) // 2
                block = None
                if code == 0:
                    block = lists[kind][-1] if lists[kind] else None
                elif 1 <= number <= len(gone) and gone[number - 1][3] == number:
                    block = gone[number - 1]
                if block:
                    lists[block[1]].remove(block)
                    block[3] = None
                    address = block[0]
            made.append([address, kind, len(made) + 1, None])
            following = next_same[kind] = address + chunk & ~15 & MASK
        else:
            block = None
            if code and code % 2 == 0:
                number = len(made) + 1 - code // 4 if code % 4 == 0 else last_released + 1 + unzigzag(code // 4)
                if 1 <= number <= len(made) and made[number - 1][2]:
                    block, last_released = made[number - 1], number
            if block is None:
                address = 0
                if code == 0:
                    step, at = varint(data, at)
                    address = last_free + unzigzag(step) & MASK
                elif code % 2:
                    address = last_free + unzigzag(code >> 1) * 16 & MASK
                block = [address, 0, None, None]
            gone.append(block)
            block[2], block[3] = None, len(gone)
            lists[block[1]].append(block)
            address = block[0]
            last_free = address & ~15
        out[tag].append(address)
    return out


class Reader:
    def __init__(self, data):
        self.data, self.names, self.records, self.blocks, self.bad = data, {}, 0, 0, 0
        self.page, self.slot_bytes, self.losses = u32(data, 20), u32(data, 200), u32(data, 204)
        self.live = list(struct.unpack_from(f"<{len(LIVE)}Q", data, u32(data, 192)))
        self.live = [v if i * 8 < u32(data, 196) else 0 for i, v in enumerate(self.live)]

    def put(self, *words):
        print(*words, sep="\t")

    def put_bad(self, offset):
        self.put("bad", offset)
        self.bad += 1

    def header_at(self, at):
        h = self.data[at:at + 96]
        return len(h) == 96 and h[:8] == SYNC and crc32c(h[:92]) == u32(h, 92)

    def walk(self):
        """The blocks of the file: (offset, header words, payload), and the gaps between them."""
        data, at = self.data, self.page
        while at < len(data):
            start = at
            while at < len(data) and not self.header_at(at):
                at = (data.find(SYNC, at + 1) + 7 & ~7) if data.find(SYNC, at + 1) >= 0 else len(data)
            gap = data[start:at]
            is_zero = not any(gap[:len(gap) & ~7])
            if gap and (not is_zero or (at < len(data) and at != -(-start // self.page) * self.page)):
                self.put("gap", start, at - start, "zero" if is_zero else "other")
            if at >= len(data):
                return
            head = struct.unpack_from("<QIHBBQQQIHHQQQII", data, at)
            begin = at + head[1]
            payload = data[begin:begin + head[5]]
            yield at, head, begin, payload
            at = begin + len(payload) + 7 & ~7 if len(payload) == head[5] else begin

    def dump(self):
        data = self.data
        self.put("log", *struct.unpack_from("<HH", data, 8), len(data))
        for name, at, form in map(str.split, HEADER):
            value = struct.unpack_from("<" + form, data, int(at))[0]
            self.put("header", name, value.hex() if form == "16s" else value)
        self.put("header", "command", text(data[216:232].split(b"\0")[0]))
        for name, value in zip(LIVE, self.live):
            self.put("live", name, value)
        self.find_schema()
        for at, head, begin, payload in self.walk():
            kind = KINDS.get(head[2], str(head[2]))
            self.put("block", at, kind, head[3], head[4], *head[5:15])
            self.blocks += 1
            is_cut = len(payload) < head[5]
            if is_cut:
                self.put_bad(at)
            if head[2] in KINDS and (not is_cut or head[2] >= 16):
                getattr(self, kind)(at, head, begin, payload)
        self.put("total", self.blocks, self.records, self.bad)

    def sealed(self, head, payload):
        if crc32c(payload) != head[15] or head[3] > 1:
            return None
        try:
            return payload if head[3] == 0 else lz4(payload, head[6])
        except (ValueError, IndexError):
            return None

    def find_schema(self):
        put, self.put = self.put, lambda *words: None
        for _, head, _, payload in self.walk():
            lines = self.sealed(head, payload) if head[2] == 1 and not self.names else None
            for line in (lines or b"").decode("latin-1").split("\n"):
                words = line.split("\t")
                if words[0] == "record":
                    self.names[int(words[1])] = {"name": words[2], "fact": words[3] == "fact", "bytes": int(words[4]),
                                                 "fields": []}
                elif words[0] == "field":
                    fields = self.names[int(words[1])]["fields"]
                    fields.append({"name": words[3], "type": words[4], "unit": words[5], "offset": int(words[7])})
        self.put = put

    def value(self, field, value):
        if field["unit"] == "address":
            return "0x%x" % value
        return value - (1 << 64) if field["type"] == "i64" and value >> 63 else value

    def record(self, time, tag, values):
        kind = self.names.get(tag)
        kind = kind if kind and not kind["fact"] else None
        words = ["record", time, kind["name"] if kind else tag]
        for number, value in sorted(values.items()):
            if kind and number < len(kind["fields"]):
                field = kind["fields"][number]
                words.append("%s=%s" % (field["name"], self.value(field, value)))
            else:
                words.append("%d=%d" % (number, value))
        self.put(*words)
        self.records += 1

    def schema(self, at, head, begin, payload):
        raw = self.sealed(head, payload)
        if raw is None:
            return self.put_bad(at)
        for line in (raw[:-1] if raw.endswith(b"\n") else raw).split(b"\n") if raw else []:
            self.put("schema", *[text(word) for word in line.split(b"\t")])

    def events(self, at, head, begin, payload):
        if at < self.live[13]:
            return
        raw = self.sealed(head, payload)
        if raw is None:
            return self.put_bad(at)
        count, columns = struct.unpack_from("<II", raw, 0)
        place, found, skipped = 8, {}, 0
        for _ in range(columns):
            tag, field, encoding, values, size = struct.unpack_from("<HHB3xII", raw, place)
            if encoding > 9 or encoding == 4 or field >= 32 or (tag, field) != ONLY.get(encoding, (tag, field)):
                skipped += 1
            else:
                found[tag, field] = (encoding, raw[place + 16:place + 16 + size], values)
            place += 16 + size
        tags = column(found[0, 0][0], *found[0, 0][1:]) if count else []
        times = column(found[0, 1][0], *found[0, 1][1:]) if count else []
        decoded = {key: column(*entry) for key, entry in found.items() if key[0] and entry[0] in (0, 1, 2, 3, 7)}
        if found.get((1, 3), (0,))[0] in (5, 8):
            dense, raw_slack, values = found[1, 3][0] == 5, *found[1, 3][1:]
            beyond = column(1, raw_slack, values) if dense and raw_slack else sparse(raw_slack, 0, 0, values)
            sizes = decoded.get((1, 1), [0] * len(beyond))
            usual = [24 - size if size <= 24 else ((size + 23 & MASK & ~15) - 8 - size) for size in sizes]
            decoded[1, 3] = [u + unzigzag(b) & MASK for u, b in zip(usual, beyond)]
        if found.get((1, 0), (0,))[0] == 9:
            if (1, 1) in decoded or 1 not in tags:
                both = heap_addresses(found[1, 0][1], tags, decoded.get((1, 1), []))
                decoded[1, 0], decoded[2, 0] = both[1], both[2]
            else:
                skipped += 1
        low, low_at, last, unit = found.get((0, 2)), 0, 0, 1 << head[10]
        rows = dict.fromkeys(tags, 0)
        for time, tag in zip(times, tags):
            time = time << head[10] & MASK
            if low and tag in (1, 2):
                time = last if 0 <= last - time < unit else time
            elif low:
                more, low_at = varint(low[1], low_at)
                time = time + more & MASK
            last = time
            self.record(time, tag, {f: v[rows[tag]] for (t, f), v in decoded.items() if t == tag})
            rows[tag] += 1
        if skipped:
            self.put("skipped", skipped)

    def chunk(self, at, head, begin, payload):
        if len(payload) < 64:
            return self.put_bad(at)
        sequence, used, thread, lane, state, room = struct.unpack_from("<QQIH2xQQ", payload, 0)
        self.put("chunk", sequence, used, thread, lane, state, room)
        raw, place = payload[64:64 + used], 0
        is_bad = used > len(payload) - 64
        while len(raw) - place >= 8:
            kind = self.names.get(raw[place])
            if not kind or kind["fact"] or kind["bytes"] > len(raw) - place:
                is_bad = True
                break
            values = {i: int.from_bytes(raw[place + f["offset"]:place + f["offset"] + WIDTHS[f["type"]]], "little")
                      for i, f in enumerate(kind["fields"])}
            self.record(u64(raw, place) >> 8, raw[place], values)
            place += kind["bytes"]
        if is_bad:
            self.put_bad(at)

    def end(self, at, head, begin, payload):
        raw = self.sealed(head, payload)
        if raw is None or len(raw) < 16:
            return self.put_bad(at)
        self.put("end", *struct.unpack_from("<QiIQQQQ", raw.ljust(48, b"\0"), 0))

    def threads(self, at, head, begin, payload):
        for start in range(0, len(payload) - self.slot_bytes + 1, self.slot_bytes):
            state, serial, tid, began, ended, name = struct.unpack_from("<QIIQQ16s", payload, start)
            if state == 0:
                continue
            words = ["slot", "state=%d" % state, "serial=%d" % serial, "tid=%d" % tid, "start_time=%d" % began,
                     "end_time=%d" % ended, "name=" + text(name.split(b"\0")[0])]
            for lane in (0, 1):
                words += ["heap[%d].%s=%d" % (lane, n, u64(payload, start + 48 + lane * 64 + i * 8)) for i, n in enumerate(HEAP)]
            for lane in (0, 1):
                words += ["map[%d].%s=%d" % (lane, n, u64(payload, start + 176 + lane * 32 + i * 8)) for i, n in enumerate(MAP)]
            words += ["own_allocations=%d" % u64(payload, start + 240), "own_bytes=%d" % u64(payload, start + 248)]
            for i in range(min(self.losses, 42)):
                loss = struct.unpack_from("<QQQ", payload, start + 256 + i * 24)
                if loss[0]:
                    words.append("loss[%d]=%d,%d,%d" % (i, *loss))
            tail = start + 256 + self.losses * 24 + 16
            through = u64(payload, tail + 224) if tail + 232 <= start + self.slot_bytes else 0
            if through:
                sums = struct.unpack_from("<7Q8x4Q", payload, tail + through % 2 * 112)
                words.append("ended[%d]=" % (through >> 1) + ",".join(str(one) for one in sums))
            self.put(*words)

    def facts(self, at, head, begin, payload):
        place = 0
        while len(payload) - place >= 16:
            size, tag, state, time = struct.unpack_from("<IHHQ", payload, place)
            if size == 0:
                place += 8
                continue
            if size < 16 or size % 8 or size > len(payload) - place:
                return self.put_bad(begin + place)
            kind = self.names.get(tag)
            kind = kind if kind and kind["fact"] else None
            words, inside, stop = ["fact", time, kind["name"] if kind else tag], place + 16, place + size
            for field in kind["fields"] if kind else []:
                need = 4 if field["type"] == "str" else 8
                if stop - inside < need or (need == 4 and u32(payload, inside) > stop - inside - 4):
                    break
                if need == 4:
                    length = u32(payload, inside)
                    words.append("%s=%s" % (field["name"], text(payload[inside + 4:inside + 4 + length])))
                    inside += 4 + length
                else:
                    words.append("%s=%s" % (field["name"], self.value(field, u64(payload, inside))))
                    inside += 8
            if state == 1:
                self.put(*words)
            place += size

    def pcs(self, at, head, begin, payload):
        for i in range(len(payload) // 16):
            pc, module, flags = struct.unpack_from("<QII", payload, i * 16)
            if pc or module or flags:
                self.put("pc", head[7] + i, "0x%x" % pc, module, flags)

    def nodes(self, at, head, begin, payload):
        for i in range(len(payload) // 8):
            word = u64(payload, i * 8)
            if word:
                self.put("node", head[7] + i, word >> 32, word & 0xFFFFFFFF)

    def packed_nodes(self, at, head, begin, payload):
        raw, out, index = self.sealed(head, payload), [], head[7]
        try:
            count, size = struct.unpack_from("<II", raw or b"", 0)
            parent_at, pc_at = 8, 8 + size
            for i in range(count):
                back, parent_at = varint(raw[:8 + size], parent_at)
                pc, pc_at = varint(raw, pc_at)
                out.append((index + i, index + i - 1 - back, pc))
        except (struct.error, IndexError):
            return self.put_bad(at)
        for words in out:
            self.put("node", *words)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        Reader(file.read()).dump()
