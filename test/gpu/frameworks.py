# SPDX-License-Identifier: Apache-2.0
"""A small job of one framework on the GPU: frameworks.py torch|jax|cupy. Prints "name value" lines; 77 where it is not there.

torch also counts kernels and their time with its own profiler in a second process (TORCH_PROFILER=1): CUPTI serves one.
"""
import os
import sys


def torch_job():
    import torch

    if not torch.cuda.is_available():
        sys.exit(77)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(256, 1024, device="cuda")

    def steps():
        for _ in range(20):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()

    if not os.environ.get("TORCH_PROFILER"):
        steps()
        print("steps 20")
        return
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        steps()
    kernels = [event for event in profiler.events() if event.device_type.name == "CUDA" and "Mem" not in event.name]
    print("profiler_kernels", len(kernels))
    print("profiler_ns", round(sum(event.time_range.elapsed_us() for event in kernels) * 1000))


def jax_job():
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        sys.exit(77)
    step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    for _ in range(20):
        step(jnp.ones((512, 512))).block_until_ready()
    print("steps 20")


def cupy_job():
    import cupy

    block = cupy.random.rand(1024, 1024, dtype=cupy.float32)
    for _ in range(20):
        block = cupy.tanh(block @ block)
    cupy.cuda.Device().synchronize()
    print("steps 20")


try:
    {"torch": torch_job, "jax": jax_job, "cupy": cupy_job}[sys.argv[1]]()
except ImportError:
    sys.exit(77)
