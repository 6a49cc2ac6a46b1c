# SPDX-License-Identifier: Apache-2.0
"""Loops of JAX whose step is one call into XLA, or little more; knows nothing of tfprof: jax_one_call.py KIND

bare: one output and nothing else; ahead: the same, waited for at the end; batches: NumPy's, so arguments are moved; warm: compiled by another line, then epochs with evaluation;
pair: two functions in one line; nested: one of its own result; shapes: most batches are of another shape and compile; epochs: waited for and then scored, at length, after each; acting: one 32 times for each of the other; second: another function's loop behind the first one's; pmapped: the same behind one of pmap's; kept: two in one line, whose results nobody gives back.
Prints how many steps the loop made.
"""
import sys

import jax
import jax.numpy as jnp
import numpy


def loss(weights, inputs):
    return ((inputs @ weights - 1) ** 2).mean()


@jax.jit
def step(weights, inputs):
    return weights - 0.01 * jax.grad(loss)(weights, inputs)


score = jax.jit(loss)


def bare(weights, inputs):
    for _ in range(120):
        weights = step(weights, inputs)
    return 120, weights


def ahead(weights, inputs):
    """Big enough for dispatching to run ahead of the work, and no more steps than XLA lets run ahead: the 33rd would wait for the first."""
    weights, inputs = jnp.ones((600, 600)), jnp.ones((600, 600)) / 600
    for _ in range(30):
        weights = step(weights, inputs)
    return 30, weights.block_until_ready()


def batches(weights, inputs):
    for i in range(90):
        weights = step(weights, numpy.full((16, 32), i % 7, numpy.float32))
        if i % 30 == 0:
            float(weights[0, 0])
    return 90, weights


def warm(weights, inputs):
    step(weights, inputs).block_until_ready()
    for _ in range(3):
        for _ in range(40):
            weights = step(weights, inputs)
        sum(float(score(weights, inputs)) for _ in range(6))
    return 120, weights


def pair(weights, inputs):
    for _ in range(60):
        weights, value = step(weights, inputs), score(weights, inputs)
    return 60, weights + 0 * value


def nested(weights, inputs):
    for _ in range(60):
        weights = step(step(weights, inputs), inputs)
    return 60, weights


def shapes(weights, inputs):
    for i in range(32):
        size = 8 + i if i % 4 else 8  # each fourth was there before, but for the first
        weights = step(weights, numpy.full((size, 32), i % 7, numpy.float32))
        weights.block_until_ready()
    return 32, weights


@jax.jit
def at_length(weights):
    for _ in range(40):
        weights = jnp.tanh(weights @ weights.T)[:, :400]
    return weights.sum()


def epochs(weights, inputs):
    for _ in range(5):
        for _ in range(24):
            weights = step(weights, inputs)
        weights.block_until_ready()
        float(at_length(jnp.ones((400, 400))))
    return 120, weights


def acting(weights, inputs):
    for _ in range(20):
        for _ in range(32):
            float(score(weights, inputs))
        weights = step(weights, inputs)
    return 20, weights


@jax.jit
def other_step(weights, inputs):
    return weights - 0.02 * jax.grad(loss)(weights, jnp.tanh(inputs))


def second(weights, inputs):
    for _ in range(60):
        weights = step(weights, inputs)
    for _ in range(40):
        weights = other_step(weights, inputs)
    return 100, weights


def pmapped(weights, inputs):
    mapped, many, inputs = jax.pmap(step), weights[None], inputs[None]
    for _ in range(40):
        many = mapped(many, inputs)
    weights, inputs = jnp.asarray(numpy.asarray(many[0])), numpy.ones((2000, 32), numpy.float32)
    for _ in range(160):
        weights = other_step(weights, inputs)
    return 200, weights


def kept(weights, inputs):
    results = []
    for _ in range(60):
        results += [step(weights, inputs), score(weights, inputs)]
    return 60, results[-2]


steps, trained = {"bare": bare, "ahead": ahead, "batches": batches, "warm": warm, "pair": pair, "nested": nested, "shapes": shapes, "epochs": epochs, "acting": acting, "second": second, "pmapped": pmapped, "kept": kept}[sys.argv[1]](jnp.zeros((32, 4)), jnp.ones((16, 32)))
print(steps, f"{float(trained.sum()):.4f}")
