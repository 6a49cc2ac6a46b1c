# SPDX-License-Identifier: Apache-2.0
"""Compiles a function and prints what XLA's own analysis says of it; knows nothing of tfprof."""
import json
import re

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")


def work(weights, inputs, images):
    hidden = jnp.tanh(inputs @ weights)
    soft = jax.nn.softmax(hidden)
    kernel = jnp.arange(3 * 3 * 4 * 8, dtype=jnp.float32).reshape(3, 3, 4, 8)
    image = jax.lax.conv_general_dilated(images, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return (soft * hidden).sum() + jnp.exp(image * 1e-3).mean()


shapes = (jnp.ones((64, 32)), jnp.ones((16, 64)), jnp.ones((2, 10, 12, 4)))
compiled = jax.jit(jax.value_and_grad(work, argnums=(0, 2))).lower(*shapes).compile()
found = compiled.cost_analysis()
found = found[0] if isinstance(found, list) else found


def half(weights, inputs):
    return jnp.tanh(inputs @ weights).sum(), weights * 0.5


text = compiled.as_text()
donating = jax.jit(half, donate_argnums=0).lower(jnp.ones((64, 32)), jnp.ones((16, 64))).compile()
memory = {name: one.memory_analysis() for name, one in (("jit_work", compiled), ("jit_half", donating))}
print(json.dumps({
    **{name: found.get(name, 0) for name in ("flops", "transcendentals", "bytes accessed")},
    "memory": {name: {key: getattr(one, f"{key}_size_in_bytes") for key in ("argument", "output", "alias", "temp")} for name, one in memory.items()},
    "shapes": dict(re.findall(r"^ *(?:ROOT )?%?([\w.-]+) = (\w+\[[\d,]*\](?:\{[\d,]*\})?) ", text, re.M)),
    "products": sorted(set(re.findall(r'op_name="([^"]*conv_general_dilated[^"]*)"', text))),
}))
