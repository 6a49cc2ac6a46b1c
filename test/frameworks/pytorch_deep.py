# SPDX-License-Identifier: Apache-2.0
"""Answers 40 requests with a net of 24 equal layers, and 40 with one of convolutions alone alike, each in a process of its own; knows
nothing of tfprof."""
import os

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


def block():
    return nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))


def folded():
    return nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())


deep = nn.Sequential(nn.Embedding(64, 16), *(block() for _ in range(24)), nn.LayerNorm(16), nn.Linear(16, 64)).eval()
wide = nn.Sequential(nn.Conv2d(3, 4, 3), *(folded() for _ in range(20)), nn.Flatten(), nn.Linear(144, 4)).eval()
for net, request in ((deep, torch.arange(8)), (wide, torch.rand(2, 3, 8, 8))):
    if os.fork() == 0:
        with torch.inference_mode():
            for _ in range(40):
                net(request)
        os._exit(0)
    assert os.wait()[1] == 0
print("done")
