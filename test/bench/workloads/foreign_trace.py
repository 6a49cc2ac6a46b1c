# SPDX-License-Identifier: Apache-2.0
"""Writes the same made GPU profile twice: foreign_trace.py LAUNCHES OUT.xplane.pb OUT.json

Steps of 100 launches on two streams, a kernel each, two ops around every launch: what a training loop leaves. Rule: both files
tell the same events with the same times.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from xspace import Plane, Shared, Unsigned, space  # noqa: E402

A_STEP = 100
DETAILS = "regs:32 static_shared:0 dynamic_shared:16384 grid:128,1,1 block:256,1,1 occ_pct:50"


def main(launches, xplane, out):
    cpu, gpu = Plane("/host:CPU", 2), Plane("/device:GPU:0", 1, device_vendor="Nvidia", compute_cap_major=Unsigned(8),
                                            compute_cap_minor=Unsigned(0))
    host, streams, events, count = cpu.line(1000, "python"), [gpu.line(7, "Stream #7"), gpu.line(20, "Stream #20")], [], 0

    def both(category, name, start, duration, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if "stream" in args else 5000,
                       "tid": args.get("stream", 1000), "ts": start / 1000, "dur": duration / 1000, "args": args})

    for i in range(launches):
        start, op, stream = i * 20000, f"net/layer_{i % 40}/MatMul", i % 2
        if i % A_STEP == 0:
            host.event("train", start, A_STEP * 20000 - 1000, _r=1, step_num=i // A_STEP)
            both("user_annotation", f"ProfilerStep#{i // A_STEP}", start, A_STEP * 20000 - 1000)
            count += 1
        host.event(f"{op}:MatMul", start + 1000, 12000).event("cuLaunchKernel", start + 3000, 5000, correlation_id=Unsigned(i + 1))
        both("cpu_op", f"aten::mm_{i % 40}", start + 1000, 12000)
        both("cuda_runtime", "cudaLaunchKernel", start + 3000, 5000, correlation=i + 1)
        streams[stream].event(f"gemm_kernel_{i % 40}", start + 9000, 30000, correlation_id=Unsigned(i + 1), kernel_details=Shared(DETAILS),
                              tf_op=Shared(f"{op}:MatMul"))
        both("kernel", f"gemm_kernel_{i % 40}", start + 9000, 30000, correlation=i + 1, device=0, context=1, stream=7 if stream == 0 else 20,
             grid=[128, 1, 1], block=[256, 1, 1], **{"registers per thread": 32, "shared memory": 16384})
        count += 3
    with open(xplane, "wb") as file:
        file.write(space([cpu, gpu], "bench"))
    with open(out, "w") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "deviceProperties": [], "traceEvents": events}, file)
    print("events", count)


main(int(sys.argv[1]), *sys.argv[2:4])
