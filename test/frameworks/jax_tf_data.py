# SPDX-License-Identifier: Apache-2.0
"""JAX fed by tf.data: 2 epochs of 12 batches; knows nothing of tfprof."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import tensorflow as tf  # noqa: E402


@jax.jit
def update(weights, x, y):
    return weights - 0.01 * jax.grad(lambda w: ((x @ w - y) ** 2).mean())(weights)


data = tf.data.Dataset.from_tensor_slices((tf.random.normal([96, 32]), tf.random.normal([96, 1]))).batch(8)
weights = jnp.zeros((32, 1))
for _ in range(2):
    for x, y in data.as_numpy_iterator():
        weights = update(weights, x, y)
print(jax.block_until_ready(weights).shape)
