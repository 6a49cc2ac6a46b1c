# SPDX-License-Identifier: Apache-2.0
"""Answers 60 requests with a small net, without optimizer and loader; knows nothing of tfprof."""
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 4)).eval()
with torch.inference_mode():
    for _ in range(60):
        net(torch.randn(4, 32))
print("done")
