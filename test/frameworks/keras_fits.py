# SPDX-License-Identifier: Apache-2.0
"""Keras on the backend named by the argument. On JAX: fit, fit again of another model and of tf.data, train_on_batch; each evaluates,
too; 36, 15 and 12 batches are trained with. On PyTorch: three epochs of tf.data, of 15 batches and 4 of validation. Knows nothing of tfprof."""
import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras  # noqa: E402
import numpy  # noqa: E402
import tensorflow  # noqa: E402

keras.utils.set_random_seed(0)
samples = numpy.random.default_rng(0).random((320, 32), dtype=numpy.float32)
sums = samples.sum(1)
batches = tensorflow.data.Dataset.from_tensor_slices((samples[:240], sums[:240])).batch(16)


def model(**options):
    net = keras.Sequential([keras.layers.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)])
    net.compile("adam", "mse", **options)
    return net


if sys.argv[1] == "torch":
    net = model()
    net.fit(batches, epochs=3, validation_data=batches.take(4), verbose=0)
else:
    net = model(steps_per_execution=3)
    net.fit(samples[:288], sums[:288], batch_size=16, epochs=2, validation_data=(samples[288:], sums[288:]), verbose=0)
    net = model()
    net.fit(batches, validation_data=batches.take(4), verbose=0)
    for i in range(0, 192, 16):
        net.train_on_batch(samples[i:i + 16], sums[i:i + 16])
    for i in range(192, 288, 16):
        net.test_on_batch(samples[i:i + 16], sums[i:i + 16])
print(net.predict(samples, verbose=0).shape)
