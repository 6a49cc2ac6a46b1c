# SPDX-License-Identifier: Apache-2.0
"""Makes the weights of equal layers one after the other with JAX, as nets are initialized, then trains; knows nothing of tfprof.

jax_layers.py LAYERS STEPS
"""
import sys

import jax
import jax.numpy as jnp
import numpy

LAYERS, STEPS = (int(word) for word in sys.argv[1:3])


def output(layers, values):
    for weights, bias in layers:
        values = jnp.tanh(values @ weights + bias)
    return (values ** 2).mean()


@jax.jit
def train_step(layers, values):
    value, gradients = jax.value_and_grad(output)(layers, values)
    return jax.tree_util.tree_map(lambda weights, gradient: weights - 0.1 * gradient, layers, gradients), value


def main():
    key, layers = jax.random.PRNGKey(0), []
    for _ in range(LAYERS):
        key, used = jax.random.split(key)
        layers.append((jax.random.normal(used, (64, 64)) * 0.1, jnp.zeros(64)))
    for step in range(STEPS):
        batch = numpy.random.default_rng(step).normal(size=(16, 64)).astype(numpy.float32)
        layers, value = train_step(layers, batch)  # the training line
        float(value)
    print(STEPS)


main()
