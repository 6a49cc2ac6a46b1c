# SPDX-License-Identifier: Apache-2.0
"""Two workers of MultiWorkerMirroredStrategy on the CPU, of which the second is late for each step; knows nothing of tfprof."""
import json
import os
import socket
import subprocess
import sys
import time

STEPS, LATE = 8, 0.2  # seconds


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def work(rank):
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones([16, 4]))

    def learn(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ weights) ** 2)
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.01 * tf.distribute.get_replica_context().all_reduce("sum", gradient))

    @tf.function
    def train_step(batch):
        strategy.run(learn, args=(batch,))

    for _ in range(STEPS):
        if rank == 1:
            time.sleep(LATE)
        train_step(tf.ones([8, 16]))


def main():
    workers = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    jobs = []
    for rank in range(2):
        config = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})
        jobs.append(subprocess.Popen([sys.executable, __file__, str(rank)], env={**os.environ, "TF_CONFIG": config}))
    print([job.wait() for job in jobs])


if len(sys.argv) > 1:
    work(int(sys.argv[1]))
else:
    main()
