/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a step beside its sweep; see reducer/analysis/steps_pass.h. */
#include "reducer/analysis/steps_pass.h"

#include <string.h>

/* A function of TensorFlow was called; of a step that marks itself so it is the first on its thread. */
void steps_note_function(struct steps_pass *pass, const struct span *span)
{
	const struct process *process = pass->input->process;
	size_t lane = steps_lane_of(pass, span->thread), at;

	if (lane == pass->lane_count || (at = steps_find_unit(pass, &pass->lanes[lane], HINT_HOST, span->start_ns)) == SIZE_MAX)
		return;
	const struct unit *unit = &pass->units.items[at];
	if (unit->step != SIZE_MAX && process->steps[unit->step].source == SOURCE_eager && !process->steps[unit->step].is_batch &&
	    !process->steps[unit->step].is_update && !pass->functions[at])
		pass->functions[at] = base_hash(BASE_HASH, span->name, strlen(span->name));
}

/* Arithmetic counts for the step in which it began: its thread's, else whatever thread's. */
void steps_add_flops(struct steps *steps, const struct span *span)
{
	struct steps_pass *pass = steps->pass;
	const struct unit *units = pass->units.items;
	bool has_lane = steps_lane_of(pass, span->thread) < pass->lane_count;

	if (!span->flops->is_counted && !span->flops->is_replay)
		return;
	for (size_t l = 0; l < pass->lane_count; l++) {
		if (pass->units.kind != UNIT_WHOLE && (l = steps_lane_at(pass, l, span->start_ns, span->start_ns)) == pass->lane_count)
			break;
		size_t unit = steps_find_unit(pass, &pass->lanes[l], HINT_HOST, span->start_ns);
		if (unit == SIZE_MAX || (has_lane && units[unit].thread != span->thread))
			continue;
		if (span->start_ns >= units[unit].end_ns && pass->units.kind != UNIT_WHOLE)
			continue;
		uint64_t *sum = &steps->rows[unit].flops[span->flops->origin];
		*sum = flops_plus(*sum, span->flops->flops.count);
		steps->rows[unit].replays += span->flops->is_replay ? 1 : 0;
	}
}

static void widen(struct step_edges *edges, const struct span_again *at, bool is_forward)
{
	int64_t end_ns = at->start_ns + (int64_t)at->duration_ns;

	if (is_forward && (edges->forward_ns == TIME_UNKNOWN || at->start_ns < edges->forward_ns))
		edges->forward_ns = at->start_ns;
	if (!is_forward && (edges->backward_ns == TIME_UNKNOWN || end_ns > edges->backward_ns))
		edges->backward_ns = end_ns;
}

/*
 * A kernel is of the step that launched it, however late it runs. Of the host's ops that nothing says a phase of only PyTorch's
 * on the step's own thread are known to compute for it: TensorFlow's threads run tf.data's functions, too.
 */
void steps_add_edges(struct steps *steps, const struct span_again *again, uint32_t mask)
{
	struct steps_pass *pass = steps->pass;
	const struct span *span = again->like;
	bool is_device = span->on == SPAN_QUEUE, is_unsaid = mask & CLASS_BIT(CLASS_HOST_UNSAID);
	enum phase phase = is_unsaid ? PHASE_FORWARD : part_phase(mask);
	int64_t time = is_device && again->called_ns != TIME_UNKNOWN ? again->called_ns : again->start_ns;

	if ((phase != PHASE_FORWARD && phase != PHASE_BACKWARD) || span->what == SPAN_COPY || span->what == SPAN_SET ||
	    (is_unsaid && span->source != SOURCE_record_function))
		return;
	for (size_t l = 0; (l = steps_lane_at(pass, l, time, time)) < pass->lane_count; l++) {
		size_t at = steps_find_unit(pass, &pass->lanes[l], HINT_PASSES, time);
		const struct unit *unit = at == SIZE_MAX ? NULL : &pass->units.items[at];
		if (unit && time < unit->end_ns && (!is_unsaid || span->thread == unit->thread))
			widen(&steps->rows[at].edges[is_device ? EDGES_DEVICE : EDGES_HOST], again, phase == PHASE_FORWARD);
	}
}
