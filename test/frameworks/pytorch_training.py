# SPDX-License-Identifier: Apache-2.0
"""Trains a small net; knows nothing of tfprof: pytorch_training.py WORKERS STEPS [FILE]

With FILE its own torch.profiler looks at three steps in the middle, and what that saw is written there.
"""
import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader, TensorDataset

workers, steps, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(16 * steps, 32), torch.randn(16 * steps, 1))
loader = DataLoader(data, batch_size=16, num_workers=workers)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
measure = nn.MSELoss()


def step(inputs, targets):
    optimizer.zero_grad()
    with record_function("user: forward"):
        loss = measure(net(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def seen(event):
    times = (event.start_ns(), event.duration_ns()) if hasattr(event, "start_ns") else (event.start_us() * 1000,
                                                                                       event.duration_us() * 1000)
    return {"name": event.name(), "start": times[0], "duration": times[1], "bytes": event.nbytes(),
            "sequence": event.sequence_nr(), "forward_thread": event.fwd_thread_id(),
            "shapes": [list(shape) for shape in event.shapes()]}


losses = []
session = span = None
for number, (inputs, targets) in enumerate(loader):
    if out and number == steps // 2:
        session = profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True)
        session.__enter__()
        span = record_function("user: session")
        span.__enter__()
    losses.append(step(inputs, targets))
    if out and number == steps // 2 + 2:
        span.__exit__(None, None, None)
        session.__exit__(None, None, None)
        with open(out, "w") as file:
            json.dump([seen(event) for event in session.profiler.kineto_results.events()], file)
print(len(losses), f"{losses[0]:.5f} {losses[-1]:.5f}")
