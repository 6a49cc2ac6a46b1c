# SPDX-License-Identifier: Apache-2.0
"""A loop that trains eagerly, of two datasets at once, scores after each epoch and leaves its last epoch early; with `predict` one
that only predicts, by a function, and asks for no batch too many; with `elsewhere` one whose thread only scales what another trains with.
Knows nothing of tfprof."""
import os
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

weights = tf.Variable(tf.random.normal([32, 1], seed=1))
x, y = tf.random.normal([160, 32]), tf.random.normal([160, 1])
inputs = tf.data.Dataset.from_tensor_slices(x).batch(16)
targets = tf.data.Dataset.from_tensor_slices(y).batch(16)
if sys.argv[1:] == ["elsewhere"]:
    def learn(one):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(one @ weights) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
    with ThreadPoolExecutor(1) as pool:
        for one in inputs:
            pool.submit(learn, one * 2.0).result()
    sys.exit()
if len(sys.argv) > 1:
    predict = tf.function(lambda one: tf.nn.relu(one @ weights))
    batches = iter(inputs.repeat())
    for _ in range(25):
        predict(next(batches))
    sys.exit()
for epoch in range(3):
    for batch, (one, wanted) in enumerate(zip(inputs, targets)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.relu(one @ weights) - wanted) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        if epoch == 2 and batch == 6:
            break
    for one in inputs.take(4):
        score = tf.reduce_mean(one @ weights)
print("done")
