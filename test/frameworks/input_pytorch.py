# SPDX-License-Identifier: Apache-2.0
"""A training script whose input is slow, or not: input_pytorch.py code|spawned|read|collate|loops|stream|sampler|plain|healthy WORKERS [FILE]. Knows nothing of tfprof."""
import os
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, default_collate

MODE, WORKERS = sys.argv[1], int(sys.argv[2])
FILE = sys.argv[3] if len(sys.argv) > 3 else ""
WIDTH = 1024 if MODE == "healthy" else 16
SAMPLES, BATCH = 64, 4


class Samples(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        if MODE in ("code", "spawned"):
            time.sleep(0.06 if WORKERS else 0.02)  # where looks are few, on a busy machine, enough of them
        if MODE == "loops":
            time.sleep(0.005)
            return [float(index)] * WIDTH, [0.0]
        if MODE == "read":
            descriptor = os.open(FILE, os.O_RDONLY)
            os.read(descriptor, 1 << 24)
            os.close(descriptor)
        if MODE == "collate":
            return torch.zeros(1 << 20), torch.zeros(1)
        if MODE == "plain":  # no op of PyTorch, no file
            return [float(sum(range(100000)) % 7)] * WIDTH, [0.0]
        return torch.full((WIDTH,), float(index)), torch.zeros(1)


class Stream(IterableDataset):
    def __iter__(self):
        for index in range(SAMPLES):
            time.sleep(0.02)  # until the next one comes
            yield torch.full((WIDTH,), float(index)), torch.zeros(1)


class Chosen(Sampler):
    def __iter__(self):
        for index in range(SAMPLES):
            time.sleep(0.06)  # which comes next
            yield index


def batch_of(samples):
    if MODE == "loops":
        time.sleep(0.2)  # each value by itself
    if MODE in ("plain", "loops"):
        return [sample[0] for sample in samples], [sample[1] for sample in samples]
    if MODE != "collate":
        return default_collate(samples)
    whole = torch.stack([sample[0] for sample in samples] * 4)
    return whole[:BATCH, :WIDTH].clone(), torch.stack([sample[1] for sample in samples])


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(24 if MODE == "healthy" else 1)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    context = "spawn" if MODE == "spawned" else None  # Python's helper for what processes share runs beside such workers
    if MODE in ("loops", "stream", "sampler"):  # lines are known of programs with a second thread
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    for x, y in DataLoader(Stream() if MODE == "stream" else Samples(), batch_size=BATCH, num_workers=WORKERS, collate_fn=batch_of, multiprocessing_context=context,
                           sampler=Chosen() if MODE == "sampler" else None):
        x, y = torch.as_tensor(x), torch.as_tensor(y)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    print(f"{MODE}: {SAMPLES // BATCH} steps")


if __name__ == "__main__":
    main()
