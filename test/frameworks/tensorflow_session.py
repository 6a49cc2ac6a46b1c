# SPDX-License-Identifier: Apache-2.0
"""A session of TensorFlow 1 that trains, scores now and then, and at last serves; knows nothing of tfprof."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_eager_execution()
x, y = tf.placeholder(tf.float32, [None, 32]), tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable("weights", [32, 1])
loss = tf.reduce_mean((tf.nn.relu(tf.matmul(x, weights)) - y) ** 2, name="loss")
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="descend")
one = {x: numpy.ones((16, 32), "f"), y: numpy.ones((16, 1), "f")}
with tf.train.MonitoredTrainingSession() as session:
    for i in range(30):
        session.run([train, loss], one)
        if i % 10 == 9:
            for _ in range(3):
                session.run(loss, one)
print("done")
