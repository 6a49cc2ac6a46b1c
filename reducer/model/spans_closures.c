/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning inside of PyTorch's Optimizer.step: a closure that it calls back for its loss. Trainers pass one to every optimizer (Lightning),
 * LBFGS calls it several times.
 *
 * Rule: an op in there that has a sequence number is of the closure, for an optimizer's own ops have no gradients; so are backward
 * functions and zero_grad. They have the phase that they would have elsewhere, and the step is the optimizer's from where they ended on.
 */
#include "reducer/model/spans_internal.h"

#include <string.h>

#define SCOPE_BITS 15u
#define SCOPE_BACKWARD 1

static int has_name(const struct spans *spans, const struct span_open *open, const char *begin)
{
	const char *name = spans_text(spans, open->name);

	return name != NULL && strncmp(name, begin, strlen(begin)) == 0;
}

void closures_begin(const struct spans *spans, const struct span_thread *thread, struct span_open *open)
{
	const struct span_open *parent = thread->count > 0 ? &thread->open[thread->count - 1] : NULL;

	open->is_within = parent != NULL && (parent->is_within || parent->is_stepping);
	open->is_stepping = !open->is_op && open->source == SOURCE_record_function && has_name(spans, open, "Optimizer.step#");
	open->is_closure = open->is_within && ((open->is_op && (open->scope & SCOPE_BITS) == SCOPE_BACKWARD) ||
					       (!open->is_op && has_name(spans, open, "Optimizer.zero_grad#")));
}

void spans_take_link(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct spans *spans = state;
	struct span_thread *thread = &spans->threads[spans->thread_of[stream]];
	struct span_open *open = thread->count > 0 ? &thread->open[thread->count - 1] : NULL;
	size_t step = thread->count;

	if (open == NULL || !open->is_within || !open->is_op || SPANS_VALUE(0) != 0)
		return; /* with a forward thread it is a backward function */
	while (step > 0 && !thread->open[step - 1].is_stepping)
		step--;
	open->is_closure = 1;
	if (step > 0 && open->phase == thread->open[step - 1].phase)
		open->phase = step > 1 ? thread->open[step - 2].phase : 0;
}

void closures_close(struct span_open *parent, const struct span_open *open, int64_t end_ns)
{
	if (!parent->is_stepping) {
		parent->is_closure |= open->is_closure && parent->is_within;
		return;
	}
	if (open->is_closure)
		parent->closure_ns = end_ns;
	else if (parent->is_pending)
		parent->closure_ns = open->start_ns;
	parent->is_pending = open->is_closure;
}
