# SPDX-License-Identifier: Apache-2.0
"""A small job of one framework on the GPU: frameworks.py torch|jax|tensorflow|cupy|triton|numba. Prints "name value" lines; 77 where it is
not there, or sees no GPU.

With OWN_PROFILER=1 the framework's own profiler records the steps, and the kernels that it saw are counted: profiler_kernels.
Rule: needs nothing but the framework; has_profiler 1 says that it could be asked.
"""
import glob
import json
import os
import sys
import tempfile

STEPS = 20
OWN = bool(os.environ.get("OWN_PROFILER"))
SIMULATED = bool(os.environ.get("SIMGPU_SEED"))  # the simulated GPU: it computes nothing


def torch_job():
    import torch

    if not torch.cuda.is_available():
        sys.exit(77)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(256, 1024, device="cuda")

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()

    steps(2)  # they choose kernels
    if OWN:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            steps(STEPS)
        path = os.path.join(tempfile.mkdtemp(), "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            print("profiler_kernels", sum(1 for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel"))
    else:
        steps(STEPS)
    print("reserved", torch.cuda.max_memory_reserved())
    print("has_profiler 1")


def kernels_of(planes):
    """Events on the streams of GPUs, of an XSpace's planes as objects."""
    count = 0
    for plane in planes:
        if not plane.name.startswith("/device:GPU:"):
            continue
        for line in plane.lines:
            if line.name.startswith("Stream"):
                count += sum(1 for event in line.events if not str(getattr(event, "name", "")).startswith("Mem"))
    return count


def jax_job():
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # trials of kernels are not steps
    import jax
    import jax.numpy as jnp

    if SIMULATED:  # has no device file, and JAX asks for CUDA only where there is one
        from jax._src import hardware_utils
        hardware_utils._NVIDIA_GPU_DEVICES = ["/"]
    if jax.default_backend() != "gpu":
        sys.exit(77)
    step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    step(jnp.ones((512, 512))).block_until_ready()
    data = getattr(jax.profiler, "ProfileData", None)
    if OWN:
        folder = tempfile.mkdtemp()
        jax.profiler.start_trace(folder)
    for _ in range(STEPS):
        step(jnp.ones((512, 512))).block_until_ready()
    if OWN:
        jax.profiler.stop_trace()
        files = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        print("profiler_kernels", kernels_of(data.from_file(files[0]).planes) if files and data else 0)
    if data:
        print("has_profiler 1")


def tensorflow_job():
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        sys.exit(77)
    layers = [tf.Variable(tf.random.normal((512, 512))) for _ in range(2)]

    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(batch @ layers[0]) @ layers[1])
        for layer, gradient in zip(layers, tape.gradient(loss, layers)):
            layer.assign_sub(0.01 * gradient)
        return loss

    batch = tf.random.normal((128, 512))
    step(batch).numpy()
    for _ in range(STEPS):
        step(batch).numpy()


def cupy_job():
    import cupy

    if SIMULATED:
        block = cupy.ones((1024, 1024), dtype=cupy.float32)
    else:  # cuRAND has a runtime of its own, which asks for a genuine driver
        block = cupy.random.rand(1024, 1024, dtype=cupy.float32)
    for _ in range(STEPS):
        block = cupy.tanh(block @ block)
    cupy.cuda.Device().synchronize()


def triton_job():
    import torch
    import triton
    import triton.language as tl

    if not torch.cuda.is_available():
        sys.exit(77)

    @triton.jit
    def grow(block, count, SIZE: tl.constexpr):
        at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        tl.store(block + at, tl.load(block + at, mask=at < count) + 1, mask=at < count)

    block = torch.zeros(1 << 20, device="cuda")
    for _ in range(STEPS):
        grow[(triton.cdiv(block.numel(), 1024),)](block, block.numel(), SIZE=1024)
    torch.cuda.synchronize()
    if block[5].item() != STEPS and not SIMULATED:
        sys.exit("wrong result")


def numba_job():
    import numpy
    from numba import cuda

    if not cuda.is_available():
        sys.exit(77)

    @cuda.jit
    def grow(block):
        at = cuda.grid(1)
        if at < block.size:
            block[at] += 1

    block = cuda.to_device(numpy.zeros(1 << 20, numpy.float32))
    for _ in range(STEPS):
        grow[block.size // 256, 256](block)
    if block.copy_to_host()[5] != STEPS and not SIMULATED:
        sys.exit("wrong result")


try:
    {"torch": torch_job, "jax": jax_job, "tensorflow": tensorflow_job, "cupy": cupy_job, "triton": triton_job,
     "numba": numba_job}[sys.argv[1]]()
    print("steps", STEPS)
except ImportError:
    sys.exit(77)
