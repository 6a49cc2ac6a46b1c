# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with NumPy alone: the same loader and marks of steps as train_jax.py, its slopes written by hand.

`make demo` takes it where no framework can be had.
"""
import os
import sys
import time

import numpy as np

from loader import CLASSES, FEATURES, Patterns, batches

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "preload"))
import tfprof

HIDDEN, SAMPLES, BATCH, RATE = 128, 12800, 256, 0.05
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 6


def train_step(parameters, images, labels):
    """One step of gradient descent, in place. Returns the loss before it."""
    first, first_bias, second, second_bias = parameters
    hidden = np.maximum(images @ first + first_bias, 0)
    scores = hidden @ second + second_bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(scores[rows, labels] + 1e-12).mean()
    scores[rows, labels] -= 1
    scores /= len(labels)
    back = (scores @ second.T) * (hidden > 0)
    for value, slope in zip(parameters, (images.T @ back, back.sum(axis=0), hidden.T @ scores, scores.sum(axis=0))):
        value -= RATE * slope
    return loss


def main():
    begin = time.monotonic()
    rng = np.random.default_rng(0)
    parameters = [(rng.normal(size=(FEATURES, HIDDEN)) * np.sqrt(2 / FEATURES)).astype(np.float32),
                  np.zeros(HIDDEN, np.float32),
                  (rng.normal(size=(HIDDEN, CLASSES)) * np.sqrt(2 / HIDDEN)).astype(np.float32),
                  np.zeros(CLASSES, np.float32)]
    step = 0
    for step, (images, labels) in enumerate(tfprof.steps(batches(Patterns(SAMPLES), BATCH, EPOCHS)), 1):
        loss = train_step(parameters, images, labels)
        if step == 1 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss:.4f}", flush=True)
    print(f"{step} steps in {time.monotonic() - begin:.1f} s on NumPy")


if __name__ == "__main__":
    main()
