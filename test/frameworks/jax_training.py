# SPDX-License-Identifier: Apache-2.0
"""Trains a tiny net with JAX; knows nothing of tfprof: jax_training.py STEPS"""
import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")


def loss(weights, inputs, targets):
    return jnp.mean((jnp.tanh(inputs @ weights[0]) @ weights[1] - targets) ** 2)


@jax.jit
def train_step(weights, inputs, targets):
    value, gradients = jax.value_and_grad(loss)(weights, inputs, targets)
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value


key = jax.random.PRNGKey(0)
weights = [jax.random.normal(key, (32, 64)), jax.random.normal(key, (64, 1))]
inputs, targets = jax.random.normal(key, (32, 32)), jnp.ones((32, 1))
for _ in range(int(sys.argv[1])):
    weights, value = train_step(weights, inputs, targets)
print(f"{float(value):.5f}")
