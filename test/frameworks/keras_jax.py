# SPDX-License-Identifier: Apache-2.0
"""Keras on JAX: three epochs of 19 batches, the last of which is smaller, each followed by three of validation, then 21 of prediction;
knows nothing of tfprof."""
import os

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy  # noqa: E402

keras.utils.set_random_seed(0)
net = keras.Sequential([keras.layers.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)])
net.compile("adam", "mse")
samples = numpy.random.default_rng(0).random((650, 32), dtype=numpy.float32)
net.fit(samples, samples.sum(1), batch_size=32, epochs=3, validation_split=0.1, verbose=0)
print(net.predict(samples, verbose=0).shape)
