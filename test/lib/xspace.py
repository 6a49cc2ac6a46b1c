# SPDX-License-Identifier: Apache-2.0
"""Writes XSpace files (*.xplane.pb), the format of TensorFlow's and XLA's profilers, by hand.

Rule: protocol buffers by their public field numbers, so that neither the product nor a framework has a part in them. Times of
events are ns; a stat's kind follows from its value: int is int64, Unsigned uint64, float double, Shared an interned text.
"""
import struct


class Unsigned(int):
    """A stat that is written as uint64."""


class Shared(str):
    """A stat whose text is written once a plane and referred to."""


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def field(number_, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number_ << 3 | 2) + varint(len(value)) + value


class Plane:
    def __init__(self, name, ident=0, **stats):
        self.name, self.ident, self.lines, self.events, self.names = name, ident, [], {}, {}
        self.event_stats, self.stats = {}, [self.stat(key, value) for key, value in stats.items()]

    def name_id(self, name):
        return self.names.setdefault(name, len(self.names) + 1)

    def event_id(self, name):
        return self.events.setdefault(name, len(self.events) + 1)

    def stat(self, key, value):
        head = number(1, self.name_id(key))
        if isinstance(value, Shared):
            return head + number(7, self.name_id(str(value)))
        if isinstance(value, Unsigned):
            return head + number(3, value)
        if isinstance(value, int):
            return head + number(4, value)
        if isinstance(value, float):
            return head + varint(2 << 3 | 1) + struct.pack("<d", value)
        return head + (field(6, value) if isinstance(value, bytes) else field(5, value))

    def line(self, ident, name, start_ns=0):
        self.lines.append(Line(self, ident, name, start_ns))
        return self.lines[-1]

    def describe(self, event, key, value, ident=None):
        """A stat of all events of that name."""
        if ident is not None:
            self.events[event] = ident
        self.event_stats.setdefault(self.event_id(event), []).append(self.stat(key, value))

    def encode(self):
        out = (number(1, self.ident) if self.ident else b"") + field(2, self.name)
        out += b"".join(field(3, line.encode()) for line in self.lines)
        for name, ident in self.events.items():
            message = number(1, ident) + field(2, name) + b"".join(field(5, stat) for stat in self.event_stats.get(ident, []))
            out += field(4, number(1, ident) + field(2, message))
        for name, ident in self.names.items():
            out += field(5, number(1, ident) + field(2, number(1, ident) + field(2, name)))
        return out + b"".join(field(6, stat) for stat in self.stats)


class Line:
    def __init__(self, plane, ident, name, start_ns):
        self.plane, self.ident, self.name, self.start_ns, self.events = plane, ident, name, start_ns, []

    def event(self, name_, start_ns, duration_ns, **stats):
        """An event; its times may be fractions of a ns."""
        encoded = [self.plane.stat(key, value) for key, value in stats.items() if value is not None]
        self.events.append((self.plane.event_id(name_), int(start_ns * 1000), int(duration_ns * 1000), encoded))
        return self

    def encode(self):
        out = [number(1, self.ident) + field(2, self.name) + (number(3, self.start_ns) if self.start_ns else b"")]
        for ident, start, duration, stats in sorted(self.events, key=lambda event: (event[1], -event[2])):  # as profilers do
            out.append(field(4, number(1, ident) + number(2, start) + number(3, duration) + b"".join(field(4, stat) for stat in stats)))
        return b"".join(out)


def space(planes, host, warnings=()):
    out = b"".join(field(1, plane.encode()) for plane in planes)
    return out + b"".join(field(3, warning) for warning in warnings) + field(4, host)
