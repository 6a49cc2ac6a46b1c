# SPDX-License-Identifier: Apache-2.0
"""Trains 15 steps; recording stops in the middle of the fourth's backward pass, called from deeper, and starts again behind its end."""
import ctypes

import torch
import torch.nn as nn

torch.set_num_threads(1)
tfprof = ctypes.CDLL(None)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def step():
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.randn(64, 32)), torch.randn(64, 1)).backward()
    optimizer.step()


def stop(gradient):
    tfprof.tfprof_api_stop()


def cut(depth):
    if depth:
        return list(map(cut, [depth - 1]))
    hook = net[0].weight.register_hook(stop)
    step()
    return hook.remove()


for _ in range(3):
    step()
cut(3)
tfprof.tfprof_api_start()
for _ in range(11):
    step()
