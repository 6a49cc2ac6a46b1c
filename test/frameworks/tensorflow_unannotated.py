# SPDX-License-Identifier: Apache-2.0
"""Says whether TensorFlow makes annotations after functions ran, after an eager op, after a function again, and after XLA compiled."""
import ctypes
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

LIBRARY = ctypes.CDLL(os.path.join(os.path.dirname(tf.__file__), "libtensorflow_framework.so.2"))
GENERATION = ctypes.c_int.in_dll(LIBRARY, "_ZN3tsl8profiler15AnnotationStack11generation_E")  # odd: they are made
seen = []


@tf.function
def work(x):
    return tf.reduce_sum(tf.nn.relu(x @ x))


def tell():
    seen.append(GENERATION.value & 1)


x = tf.random.normal((8, 8))
for _ in range(40):
    work(x)
tell()
tf.add(x, x)
tell()
work(x)
tell()
compiled = tf.function(lambda x: tf.reduce_sum(x * x), jit_compile=True)
compiled(x)
work(x)
tell()
data = tf.data.Dataset.range(20).map(lambda a: a + 1, num_parallel_calls=2).batch(4)
print(sum(int(tf.reduce_sum(batch)) for batch in data), seen)
