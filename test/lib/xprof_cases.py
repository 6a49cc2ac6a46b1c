# SPDX-License-Identifier: Apache-2.0
"""Hand-made GPU profiles in XSpace form, from a seed: what a TensorFlow job on one or more GPUs and hosts could have left.

Rule: a case is what really can be in such a file; nothing here knows what tfprof or xprof makes of it.
"""
from xspace import Plane, Shared, Unsigned, field, number, space, varint

US = 1000  # ns
MS = 1000 * US

OPS = [("net/dense_%d/MatMul", "MatMul"), ("net/conv_%d/Conv2D", "Conv2D"), ("net/block_%d/Relu", "Relu"),
       ("gradients/dense_%d/MatMul_grad/MatMul", "MatMul"), ("optimizer/mul_%d", "Mul"), ("loss/Einsum_%d", "Einsum")]
KERNELS = ["ampere_fp16_s16816gemm_fp16_128x64_ldg8", "volta_sgemm_128x64_nn", "void cutlass::Kernel<cutlass_80_tensorop>(Params)",
           "implicit_convolve_sgemm", "EigenMetaKernel", "void cub::DeviceReduceKernel", "redzone_checker", "relu_half_kernel"]


class Job:
    """A host with GPUs: steps of launches and what they start."""

    def __init__(self, random, gpus=1, host="host-a", numbers=0, **wants):
        self.random, self.host, self.wants = random, host, wants
        self.cpu = Plane("/host:CPU", gpus + 1)
        self.main = self.cpu.line(random.randrange(1000, 30000), "python")
        self.gpus = []
        for n in range(gpus):
            plane = Plane(f"/device:GPU:{n}", n, device_vendor="Nvidia", gpu_device_name="NVIDIA A100", clock_rate=Unsigned(1410000),
                          compute_cap_major=Unsigned(8), compute_cap_minor=Unsigned(0), core_count=Unsigned(108),
                          memory_size=Unsigned(40 << 30), memory_bandwidth=Unsigned(1555 * 10 ** 9))
            lines = [plane.line(ident, f"Stream #{ident}") for ident in random.sample(range(7, 60), random.randrange(1, 4))]
            self.gpus.append((plane, lines))
        self.correlation = random.randrange(1, 10 ** 6)
        self.first = numbers
        self.ends = {}
        self.clock = 0
        self.spans = []  # of each step: when its first device work began, its last one ended
        self.shapes = [self.shape() for _ in range(5)]

    def shape(self):
        r = self.random
        return (f"regs:{r.choice([16, 32, 64, 255])} static_shared:{r.choice([0, 512, 4096])} dynamic_shared:{r.choice([0, 16384])} "
                f"grid:{r.randrange(1, 500)},{r.randrange(1, 4)},1 block:{r.choice([32, 128, 256])},{r.randrange(1, 3)},1 "
                f"occ_pct:{r.choice([12.5, 25, 50, 62.5, 100])}")

    def on_device(self, gpu, name, after, duration, line=None, **stats):
        """Device work not before `after`; lines run one thing at a time."""
        plane, lines = self.gpus[gpu]
        line = line or (self.random.choice(lines) if self.wants.get("overlap") else lines[0])
        start = max(after, self.ends.get(id(line), 0)) + self.random.randrange(0, 5 * US)
        self.ends[id(line)] = start + duration
        if self.spans:
            first, last = self.spans[-1]
            self.spans[-1] = (min(first, start), max(last, start + duration))
        line.event(name, start, duration, **stats)
        self.clock = max(self.clock, start + duration)

    def call(self, function, duration):
        """A call of the launching thread; returns its correlation id and end."""
        self.correlation += 1
        self.time += self.random.randrange(500, 4 * US)
        self.main.event(function, self.time, duration, correlation_id=Unsigned(self.correlation))
        self.time += duration
        return Unsigned(self.correlation), self.time

    def kernel(self, gpu):
        r = self.random
        name, kind = r.choice(OPS)
        name = name % r.randrange(3)
        begin = self.time
        ident, end = self.call("cuLaunchKernel", r.randrange(US, 6 * US))
        stats = {"correlation_id": ident, "kernel_details": r.choice([str, Shared])(r.choice(self.shapes))}
        if r.random() < 0.9:
            stats["tf_op"] = Shared(f"{name}:{kind}")
        if self.wants.get("precision") and r.random() < 0.5:
            stats["shape"] = r.choice(["(half[32,64])", "(float[32,64])"])
        self.on_device(gpu, r.choice(KERNELS), end, r.randrange(2 * US, 120 * US), **stats)
        if self.wants.get("graph") and r.random() < 0.5:  # more kernels of the same launch
            for _ in range(r.randrange(1, 3)):
                self.on_device(gpu, r.choice(KERNELS), end, r.randrange(2 * US, 60 * US), **stats)
        if r.random() < 0.8:
            self.main.event(f"{name}:{kind}", begin + 100, self.time + 200 - begin)
            self.time += 400

    def copy(self, gpu):
        r = self.random
        names = [("MemcpyHToD", "pageable", "device"), ("MemcpyDToH", "device", "pinned"), ("MemcpyDToD", "device", "device")]
        name, source, destination = r.choice(names)
        ident, end = self.call({"MemcpyHToD": "cuMemcpyHtoDAsync_v2", "MemcpyDToH": "cuMemcpyDtoHAsync_v2"}.get(name, "cuMemcpyDtoDAsync_v2"),
                               r.randrange(US, 5 * US))
        if self.wants.get("misnamed"):
            name = name.replace("To", "2")
        size = r.randrange(1, 1 << 22)
        self.on_device(gpu, name, end, r.randrange(US, 40 * US), correlation_id=ident,
                       memcpy_details=f"kind_src:{source} kind_dst:{destination} size:{size} dest:{gpu} async:{size % 2}")

    def collective(self, gpu):
        ident, end = self.call("cuLaunchKernelEx", 2 * US)
        self.on_device(gpu, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", end,
                       self.random.randrange(20 * US, 200 * US), line=self.gpus[gpu][1][-1], correlation_id=ident,
                       kernel_details=self.shapes[0], tf_op=Shared("Collective/AllReduce:CollectiveReduceV2"))

    def steps(self, count):
        r = self.random
        for s in range(count):
            self.spans.append((1 << 62, 0))
            begin = self.time = max(self.clock if self.wants.get("apart", True) else 0, getattr(self, "time", 0)) + r.randrange(20, 300) * US
            for _ in range(r.randrange(3, 12)):
                gpu = r.randrange(len(self.gpus))
                r.choice([self.kernel] * 5 + [self.copy] * (2 if self.wants.get("copies", True) else 0) +
                         ([self.collective] * 2 if self.wants.get("collectives") else []))(gpu)
            for gpu in range(len(self.gpus)):
                self.kernel(gpu)  # a step counts for a device only with a kernel
            if not self.wants.get("no_steps"):
                self.time += r.randrange(1, 50) * US
                self.main.event("train", begin, self.time - begin, _r=1, step_num=self.first + s)
        return self

    def memory(self, allocators):
        """Allocators' events, each on a line of its own, in time order."""
        r = self.random
        for n in range(allocators):
            line, live, used, peak = self.cpu.line(50000 + n, f"allocator {n}"), {}, r.choice([0, 5120]), r.randrange(0, 5000)
            time, stack, capacity = r.randrange(1000), r.choice([0, 256, 4096]), 1 << 20
            for _ in range(r.randrange(5, 60)):
                time += r.randrange(1, 50) * 1000
                is_release = bool(live) and r.random() < 0.45
                address = r.choice(sorted(live)) if is_release else 0x7f0000000000 + 256 * r.randrange(1 << 20)
                requested, size = live.pop(address) if is_release else ((want := r.randrange(1, 8000)), (want + 255) // 256 * 256)
                used += -size if is_release else size
                if not is_release:
                    live[address] = (requested, size)
                peak = max(peak, used)
                free = capacity - stack - used
                op = r.randrange(4)
                line.event("MemoryDeallocation" if is_release else "MemoryAllocation", time, 0,
                           allocator_name=Shared(f"GPU_{n}_bfc"), bytes_allocated=used, bytes_reserved=stack, bytes_available=free,
                           peak_bytes_in_use=peak, requested_bytes=requested, allocation_bytes=size, addr=address,
                           fragmentation=r.randrange(100) / 100,
                           **({} if is_release else {"tf_op": Shared(f"net/dense_{op}/MatMul"), "data_type": 1,
                                                     "region_type": Shared(["output", "temp", "persist/dynamic"][op % 3]),
                                                     "tensor_shapes": Shared("[32,64]")}))
        return self

    def file(self):
        return self.host, space([self.cpu] + [plane for plane, _ in self.gpus], self.host)


def hlo_proto(ops):
    """An HloProto: a chain of negations, one for each instruction name -> framework op."""
    shape = number(2, 11) + field(3, varint(64)) + field(5, field(1, varint(0)))  # f32[64]{0}
    program = field(1, shape) + field(2, shape) + field(3, "p0")
    instructions = [field(1, "p0") + field(2, "parameter") + field(3, shape) + number(35, 1)]
    for ident, (name, op) in enumerate(ops.items(), 2):
        instructions.append(field(1, name) + field(2, "negate") + field(3, shape) +
                            field(7, field(1, op.split("/")[-1]) + field(2, op)) + number(35, ident) + field(36, varint(ident - 1)))
    computation = (field(1, "entry") + b"".join(field(2, one) for one in instructions) + field(4, program) + number(5, 1) +
                   number(6, len(instructions)))
    return field(1, field(1, "jit_train") + field(2, "entry") + field(3, computation) + field(4, program) + number(5, 5) + number(6, 1))


def hlo_case(random):
    """Kernels that XLA made: instruction and module on the device, the framework's op in the proto alone."""
    job = Job(random)
    instructions = {f"fusion.{n}": f"jit(train)/jvp(layer{n})/dot_general" for n in range(4)}
    metadata = Plane("/host:metadata", 9)
    metadata.describe("jit_train(5)", "Hlo Proto", hlo_proto(instructions), ident=5)
    job.time = 0
    for step in range(3):
        begin = job.time
        for _ in range(5):
            name = random.choice(sorted(instructions))
            ident, end = job.call("cuLaunchKernel", 2 * US)
            job.on_device(0, name.replace(".", "_"), end, random.randrange(2 * US, 90 * US), correlation_id=ident,
                          kernel_details=job.shapes[0], hlo_op=Shared(name), hlo_module=Shared("jit_train"), program_id=5)
        job.main.event("train", begin, job.time - begin, _r=1, step_num=step)
        job.time = job.clock + 100 * US
    return [(job.host, space([job.cpu, job.gpus[0][0], metadata], job.host))]


def grouped_case(random):
    """Every event says which step it is of, and the device has a Steps line of its own: longer steps than its work."""
    cpu, gpu = Plane("/host:CPU", 2, group_id=0), Plane("/device:GPU:0", 1, device_vendor="Nvidia")
    host, stream = cpu.line(4000, "python"), gpu.line(7, "Stream #7")
    steps = gpu.line(-559038737, "Steps")
    time, spans = 0, []
    for step in range(random.randrange(2, 5)):
        begin, ident = time, Unsigned(step + 1)
        host.event("cuLaunchKernel", time + US, 2 * US, correlation_id=ident, group_id=step)
        work = random.randrange(10, 200) * US
        stream.event("kernel", time + 5 * US, work, correlation_id=ident, kernel_details="regs:16 grid:1,1,1 block:32,1,1", group_id=step,
                     tf_op=Shared("net/relu:Relu"))
        time += work + random.randrange(100, 300) * US
        steps.event(str(step), begin, time - begin, group_id=step, step_name=f"train {step}")
        spans.append((begin, time))
        time += 50 * US
    return [("host-a", space([cpu, gpu], "host-a"))], spans


def bare_case(random):
    """A kernel that has no launch configuration, and one of no time."""
    job = Job(random).steps(2)
    ident = Unsigned(job.correlation)
    job.on_device(0, "bare", job.clock, 7 * US, correlation_id=ident)
    job.on_device(0, "instant", job.clock + US, 0, kernel_details=job.shapes[0], correlation_id=ident)
    return [job.file()]


def cases(random):
    """name -> list of (host, bytes); and for some names what the device did: (begin, end) of each step."""
    made, spans = {}, {}
    kinds = {"plain": {}, "overlap": {"overlap": True}, "collectives": {"collectives": True, "overlap": True},
             "graph": {"graph": True}, "precision": {"precision": True}, "launched-ahead": {"apart": False, "overlap": True},
             "misnamed": {"misnamed": True}, "no-steps": {"no_steps": True}, "two-gpus": {"gpus": 2, "overlap": True}}
    for kind, wants in kinds.items():
        for n in range(3):
            job = Job(random, **wants).steps(random.randrange(2, 6))
            made[f"{kind}-{n}"], spans[f"{kind}-{n}"] = [job.file()], job.spans
    for n in range(3):
        count = random.randrange(2, 6)
        made[f"two-hosts-{n}"] = [Job(random, host=host).steps(count).file() for host in ("host-a", "host-b")]
        made[f"memory-{n}"] = [Job(random).steps(2).memory(random.randrange(1, 4)).file()]
        made[f"hlo-{n}"] = hlo_case(random)
        made[f"grouped-{n}"], spans[f"grouped-{n}"] = grouped_case(random)
    made["eight-steps"] = [Job(random).steps(8).file()]
    made["bare"] = bare_case(random)
    return made, spans
