/* SPDX-License-Identifier: Apache-2.0 */
/* What the library counted as lost; see reducer/model/losses.h. */
#include "reducer/model/losses.h"

enum loss_kind {
#define TFP_LOSS(number, name, help, remedy) LOSS_##name = number,
#include "writer/losses.def"
#undef TFP_LOSS
};

bool loss_is_degraded(unsigned kind)
{
	return kind == LOSS_stack_cut || kind == LOSS_clock_step || kind == LOSS_not_kill_safe || kind == LOSS_clock_stopped;
}

struct loss_sums losses_sum(const struct run *run, bool is_degraded)
{
	struct loss_sums sums = {0};

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].loss_count; k++) {
			const struct loss *loss = &run->processes[i].losses[k];
			if (loss->kind >= TFP_LOSS_SLOTS || loss_is_degraded(loss->kind) != is_degraded)
				continue;
			sums.counts[loss->kind] += loss->count;
			sums.named[loss->kind] = loss;
		}
	return sums;
}
