# SPDX-License-Identifier: Apache-2.0
"""Trains with JAX on NumPy's batches and evaluates after each epoch; knows nothing of tfprof: jax_loop.py EPOCHS STEPS EVALUATIONS

Prints how many steps it made. With 0 epochs it computes this and that, and nothing repeats.
"""
import sys

import jax
import jax.numpy as jnp
import numpy

EPOCHS, STEPS, EVALUATIONS = (int(word) for word in sys.argv[1:4])
random = numpy.random.default_rng(0)
images = random.normal(size=(STEPS * 16, 32)).astype(numpy.float32)
labels = (images[:, 0] > 0).astype(numpy.int32)


def logits(weights, inputs):
    return jnp.tanh(inputs @ weights["first"]) @ weights["second"]


@jax.jit
def train_step(weights, inputs, targets):
    def loss(weights):
        scores = jax.nn.log_softmax(logits(weights, inputs))
        return -jnp.mean(jnp.take_along_axis(scores, targets[:, None], 1))

    value, gradients = jax.value_and_grad(loss)(weights)
    return jax.tree_util.tree_map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients), value


@jax.jit
def evaluate(weights, inputs, targets):
    return jnp.sum(jnp.argmax(logits(weights, inputs), 1) == targets)


def main():
    weights = {"first": jnp.ones((32, 64)) * 0.1, "second": jnp.eye(64, 2)}
    steps, right = 0, 0
    for _ in range(EPOCHS):
        order = random.permutation(len(images))
        for i in range(STEPS):
            chosen = order[i * 16:i * 16 + 16]
            weights, value = train_step(weights, images[chosen], labels[chosen])  # the training line
            steps += 1
            if steps % 10 == 0:
                float(value)
        for i in range(EVALUATIONS):
            right += int(evaluate(weights, images[i * 16:i * 16 + 16], labels[i * 16:i * 16 + 16]))
    if not EPOCHS:
        for size in (3, 17, 40):
            print(float(jnp.linalg.det(jnp.eye(size))), numpy.asarray(jnp.sort(jnp.arange(size)[::-1]))[0])
    print(steps)


main()
