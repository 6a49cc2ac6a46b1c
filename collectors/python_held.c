/* SPDX-License-Identifier: Apache-2.0 */
/* Looks that are kept for a slow step; see collectors/python_held.h. */
#include "collectors/python_held.h"

#include "collectors/slow.h"

#include "writer/poison.h"

void tfp_python_hold(struct tfp_python_held *held, const struct tfp_python_held_look *look)
{
	held->looks[held->count++ % TFP_PYTHON_HELD] = *look;
}

void tfp_python_held_tell(struct tfp_python_held *held, struct tfp_thread *self)
{
	struct tfp_slow_found found = tfp_slow_last();
	uint64_t first = held->count > TFP_PYTHON_HELD ? held->count - TFP_PYTHON_HELD : 0;

	if (found.number == held->told)
		return;
	held->told = found.number;
	for (uint64_t i = first; i < held->count; i++) {
		const struct tfp_python_held_look *look = &held->looks[i % TFP_PYTHON_HELD];
		uint64_t now = tfp_now(), at = look->time + tfp_origin.ticks;
		if (at <= found.from || at > found.to || look->time > now)
			continue;
		TFP_PUT(self, &self->lanes[0], now, python_held, .thread = look->thread, .stack = look->stack, .wall = look->wall,
			.cpu = look->cpu, .before = now - look->time, .collecting = look->collecting);
	}
}
