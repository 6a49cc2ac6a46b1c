# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with JAX on the CPU: a loader, compiled steps, a printed loss. `make demo` records it.

Run it alone with `python3 examples/train_jax.py [EPOCHS]`. All it knows of tfprof is steps(): JAX on the CPU announces no
steps, so the loop says itself where one begins; without the recording library that does nothing.
"""
import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from loader import CLASSES, FEATURES, Patterns, batches

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "preload"))
import tfprof

LAYERS = [FEATURES, 1024, 512, CLASSES]
SAMPLES, BATCH, RATE = 12800, 256, 0.05
EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 6


def make_parameters(key):
    parameters = []
    for wide, narrow in zip(LAYERS, LAYERS[1:]):
        key, used = jax.random.split(key)
        parameters.append((jax.random.normal(used, (wide, narrow)) * np.sqrt(2.0 / wide), jnp.zeros(narrow)))
    return parameters


def predict(parameters, images):
    for weights, bias in parameters[:-1]:
        images = jax.nn.relu(images @ weights + bias)
    weights, bias = parameters[-1]
    return images @ weights + bias


def loss_of(parameters, images, labels):
    scores = jax.nn.log_softmax(predict(parameters, images))
    return -jnp.mean(scores[jnp.arange(labels.shape[0]), labels])


@jax.jit
def train_step(parameters, images, labels):
    loss, slopes = jax.value_and_grad(loss_of)(parameters, images, labels)
    return jax.tree_util.tree_map(lambda value, slope: value - RATE * slope, parameters, slopes), loss


def main():
    begin = time.monotonic()
    data = Patterns(SAMPLES)
    parameters = make_parameters(jax.random.key(0))
    step = 0
    for step, (images, labels) in enumerate(tfprof.steps(batches(data, BATCH, EPOCHS)), 1):
        parameters, loss = train_step(parameters, images, labels)
        if step == 1 or step % 50 == 0:
            print(f"step {step:4d}  loss {float(loss):.4f}", flush=True)
    print(f"{step} steps in {time.monotonic() - begin:.1f} s on {jax.devices()[0].platform}")


if __name__ == "__main__":
    main()
