# SPDX-License-Identifier: Apache-2.0
"""A small client of the fake libcupti, run as a program on the simulated GPU: it subscribes, launches, and prints what it was
given as JSON. Rule: it reads records by the offsets that the vendor's documents give for CUPTI 11.7, and strides as the
library steps; it shares nothing with the simulator or the product.

Usage: cupti_client.py LIBCUPTI LAUNCHES [flush0 | flush1 | nowait] [KIND...]
"""
import ctypes
import json
import os
import struct
import sys
import threading

REQUEST = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
BUFFER = 64 << 10
main_thread = threading.get_ident()
kept = []  # memory that CUPTI may hold
seen = {"requests": 0, "requests_elsewhere": 0, "completes": 0, "completes_elsewhere": 0, "empty": 0, "records": {}, "strides": {},
        "unreadable": 0, "calls": {}, "kernels": [], "copies": [], "resources": {}, "launch_correlations": [], "symbols": []}


def callbacks(cupti):
    @REQUEST
    def request(buffer, size, most):
        block = ctypes.create_string_buffer(BUFFER + 8)
        kept.append(block)
        buffer[0] = (ctypes.addressof(block) + 7) & ~7
        size[0], most[0] = BUFFER, 0
        seen["requests"] += 1
        seen["requests_elsewhere"] += threading.get_ident() != main_thread

    @COMPLETE
    def complete(_context, _stream, buffer, _size, valid):
        seen["completes"] += 1
        seen["completes_elsewhere"] += threading.get_ident() != main_thread
        seen["empty"] += not valid
        read(cupti, buffer, valid)

    @CALLBACK
    def callback(_user, domain, number, data):
        if domain == 3:
            seen["resources"][number] = seen["resources"].get(number, 0) + 1
        if domain in (1, 2):
            site = ctypes.c_uint32.from_address(data).value
            key = f"{domain} {number} {'exit' if site else 'enter'}"
            seen["calls"][key] = seen["calls"].get(key, 0) + 1
            if domain == 2 and number == 211 and site:
                seen["launch_correlations"].append(ctypes.c_uint32.from_address(data + 64).value)
                seen["symbols"].append(ctypes.string_at(ctypes.c_void_p.from_address(data + 32).value).decode())

    kept.extend([request, complete, callback])
    return request, complete, callback


def subscribe(cupti, kinds, request, complete, callback):
    version, handle = ctypes.c_uint32(), ctypes.c_void_p()
    seen["get_version"] = cupti.cuptiGetVersion(ctypes.byref(version))
    seen["version"] = version.value
    seen["subscribe"] = cupti.cuptiSubscribe(ctypes.byref(handle), callback, None)
    seen["subscribe_again"] = cupti.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), callback, None)
    seen["register"] = cupti.cuptiActivityRegisterCallbacks(request, complete)
    seen["enable"] = {kind: cupti.cuptiActivityEnable(kind) for kind in kinds}
    seen["domains"] = [cupti.cuptiEnableDomain(1, handle, domain) for domain in (1, 2, 3)]


def work(launches, flush):
    core, driver = ctypes.CDLL("libsimgpu.so"), ctypes.CDLL("libcuda.so.1")
    seen["init"] = driver.cuInit(0)
    context = ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    grid, block = (ctypes.c_uint32 * 3)(7, 5, 3), (ctypes.c_uint32 * 3)(64, 2, 1)
    for _ in range(launches):
        core.sim_private_launch(b"_Z4workPf", grid, block, ctypes.c_uint64(256), None)
    memory = ctypes.c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))
    if flush != "nowait":  # the copy waits for the kernels, being in the same stream
        driver.cuMemcpyHtoD_v2(memory, b"x" * 4096, ctypes.c_size_t(4096))
        seen["synchronize"] = driver.cuCtxSynchronize()


def main():
    path, launches, flush = sys.argv[1], int(sys.argv[2]), (sys.argv[3:4] or ["flush0"])[0]
    cupti = ctypes.CDLL(path)
    subscribe(cupti, [int(kind) for kind in sys.argv[4:]] or [10, 1, 2], *callbacks(cupti))
    work(launches, flush)
    seen["flush"] = cupti.cuptiActivityFlushAll(1 if flush == "flush1" else 0)
    dropped = [ctypes.c_size_t(), ctypes.c_size_t()]
    for one in dropped:
        cupti.cuptiActivityGetNumDroppedRecords(None, 0, ctypes.byref(one))
    seen["dropped"] = [one.value for one in dropped]
    print(json.dumps(seen), flush=True)
    os._exit(0)  # not through the interpreter's end: CUPTI's worker may be in a callback of ours


def read(cupti, buffer, valid):
    record, last = ctypes.c_void_p(), None
    while True:
        result = cupti.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record))
        if result:
            seen["unreadable"] += result != 12
            return
        kind = ctypes.c_uint32.from_address(record.value).value
        if last:
            seen["strides"][last[1]] = record.value - last[0]
        last = (record.value, kind)
        seen["records"][kind] = seen["records"].get(kind, 0) + 1
        if kind in (3, 10):
            data = ctypes.string_at(record.value, 176)
            start, end = struct.unpack_from("<QQ", data, 16)
            device, context, stream = struct.unpack_from("<III", data, 40)
            name = struct.unpack_from("<Q", data, 104)[0]
            seen["kernels"].append({
                "start": start, "end": end, "device": device, "context": context, "stream": stream,
                "grid": struct.unpack_from("<iii", data, 52), "block": struct.unpack_from("<iii", data, 64),
                "dynamic": struct.unpack_from("<i", data, 80)[0], "correlation": struct.unpack_from("<I", data, 92)[0],
                "name": ctypes.string_at(name).decode() if name else None})
        if kind == 1:
            data = ctypes.string_at(record.value, 88)
            seen["copies"].append({"kind": data[4], "bytes": struct.unpack_from("<Q", data, 8)[0],
                                   "correlation": struct.unpack_from("<I", data, 44)[0]})


if __name__ == "__main__":
    main()
