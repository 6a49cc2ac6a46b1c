/* SPDX-License-Identifier: Apache-2.0 */
/* The split of steps; see reducer/analysis/steps.h. */
#include "reducer/analysis/steps.h"

#include "reducer/analysis/steps_evaluation.h"
#include "reducer/analysis/steps_merge.h"
#include "reducer/analysis/steps_pass.h"
#include "reducer/analysis/sweep.h"
#include "reducer/model/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What waits for one unit. */
struct waiting {
	struct sweep sweep;
	struct device_work {
		int64_t first_ns, last_ns;
	} * devices; /* by device, as far as any was seen; at most DEVICES_MOST */
	size_t device_count;
	int64_t from_ns, to_ns; /* of all that came */
	int64_t target_from_ns, target_to_ns; /* once something was told: of the unit's time what that lies in */
	bool is_given;		/* the file says which step its work is of, and so how long the step is */
};

static void free_waiting(struct waiting *waiting)
{
	if (!waiting)
		return;
	sweep_free(&waiting->sweep);
	free(waiting->devices);
	free(waiting);
}

static void make_lanes(struct steps_pass *pass)
{
	const struct units *units = &pass->units;

	for (size_t i = 0; i < units->count; i++) {
		if (i && units->items[i].thread == units->items[i - 1].thread) {
			pass->lanes[pass->lane_count - 1].to = i + 1;
			continue;
		}
		pass->lanes = base_grow(pass->lanes, &pass->lane_room, pass->lane_count + 1, sizeof(*pass->lanes));
		pass->lanes[pass->lane_count++] = (struct lane){i, i + 1, {i, i, i}};
	}
	pass->lane_times = base_alloc(pass->lane_count / LANES_TOGETHER + 1, sizeof(*pass->lane_times));
	for (size_t l = 0; l < pass->lane_count; l++) {
		struct lane_times *times = &pass->lane_times[l / LANES_TOGETHER];
		if (l % LANES_TOGETHER == 0)
			*times = (struct lane_times){INT64_MAX, INT64_MIN};
		for (size_t i = pass->lanes[l].from; i < pass->lanes[l].to; i++) {
			const struct unit *unit = &units->items[i];
			int64_t to_ns = unit->marked_ns > unit->end_ns ? unit->marked_ns : unit->end_ns; /* TIME_UNKNOWN is less */
			times->from_ns = unit->start_ns < times->from_ns ? unit->start_ns : times->from_ns;
			times->to_ns = to_ns > times->to_ns ? to_ns : times->to_ns;
		}
	}
}

#define MASKED_BITS 4
#define MASKED (1u << MASKED_BITS)
#define REQUESTS_PART 0.5 /* of what was named outermost, where nothing else was recorded */

/* A stretch of a unit. */
struct target {
	struct step_row *row;
	enum analysis_split split;
	uint32_t hidden;	/* bits that do not count here */
	int64_t from_ns, to_ns; /* what the unit's time is */
	struct masked {
		uint32_t mask; /* 0 = nothing yet */
		uint64_t ns;   /* how long just these classes were active */
	} masked[MASKED]; /* of the masks seen lately: few come again and again */
};

/* What the time of a mask means for the row. */
static void add_masked(struct target *target, struct masked *masked)
{
	uint32_t seen = masked->mask & ~target->hidden, active = part_active(seen, target->split);
	enum step_part part = part_of(seen, target->split);
	struct step_row *row = target->row;

	if (!masked->mask)
		return;
	row->has_work |= active != 0;
	if (part != PART_OTHER)
		row->exposed_ns[part] += masked->ns;
	for (uint32_t left = active & ~CLASS_BIT(part); left; left &= left - 1)
		row->overlapped_ns[__builtin_ctz(left)] += masked->ns;
	row->phase_ns[part_phase(seen)] += masked->ns;
}

/* Where the time of a mask is added up: what stood there before of another is told. */
static struct masked *place_of(struct target *target, uint32_t mask)
{
	struct masked *masked = &target->masked[(mask * 0x9e3779b1u) >> (32 - MASKED_BITS)];

	if (masked->mask != mask) {
		add_masked(target, masked);
		*masked = (struct masked){.mask = mask};
	}
	return masked;
}

static void add_time(void *context, uint64_t ns, uint32_t mask)
{
	place_of(context, mask)->ns += ns;
}

/* The unit's time by --step-time. */
static struct target target_of(const struct steps_pass *pass, struct step_row *row, const struct waiting *waiting)
{
	struct target target = {.row = row, .split = pass->parts.split, .from_ns = row->unit.start_ns, .to_ns = row->unit.end_ns};
	const struct device_work *best = NULL;

	/* What comes before the first work of a process, and after the last, is its start and its end. */
	if (row->kind == UNIT_WHOLE && waiting && waiting->to_ns > waiting->from_ns) {
		target.from_ns = waiting->from_ns;
		target.to_ns = waiting->to_ns;
	}
	/* As the TensorFlow Profiler: a process with a device counts what devices did, and nothing else. */
	if (pass->parts.split == SPLIT_TF && pass->input->process->gpu && pass->input->process->gpu->queue_count)
		target.hidden = CLASS_BIT(PART_COMPILATION) | CLASS_BIT(PART_INPUT_WAIT) | CLASS_BIT(PART_KERNEL_LAUNCH) |
				CLASS_BIT(PART_HOST_COMPUTE);
	if (pass->is_span && row->unit.marked_ns != TIME_UNKNOWN)
		target.to_ns = row->unit.marked_ns;
	for (size_t d = 0; pass->is_span && waiting && !waiting->is_given && d < waiting->device_count; d++) {
		const struct device_work *work = &waiting->devices[d];
		if (work->last_ns > work->first_ns && (!best || work->last_ns - work->first_ns > best->last_ns - best->first_ns))
			best = work;
	}
	if (best) {
		target.from_ns = best->first_ns;
		target.to_ns = best->last_ns;
	}
	if (target.to_ns < target.from_ns)
		target.to_ns = target.from_ns;
	if (waiting && waiting->sweep.told_ns != INT64_MIN) { /* parts of it are added up, whichever device takes longest now */
		target.from_ns = waiting->target_from_ns < target.from_ns ? waiting->target_from_ns : target.from_ns;
		target.to_ns = waiting->target_to_ns > target.to_ns ? waiting->target_to_ns : target.to_ns;
	}
	return target;
}

/* Adds up what waits until then. */
static void tell_unit(struct steps *steps, size_t unit, int64_t until_ns)
{
	struct steps_pass *pass = steps->pass;
	struct waiting *waiting = pass->waiting[unit];
	struct target target = target_of(pass, &steps->rows[unit], waiting);

	waiting->target_from_ns = target.from_ns;
	waiting->target_to_ns = until_ns < target.to_ns ? (until_ns > target.from_ns ? until_ns : target.from_ns) : target.to_ns;
	pass->pending -= waiting->sweep.count;
	sweep_sum(&waiting->sweep, until_ns, target.from_ns, target.to_ns, add_time, &target);
	for (size_t i = 0; i < MASKED; i++)
		add_masked(&target, &target.masked[i]);
	pass->pending += waiting->sweep.count;
}

static void settle(struct steps *steps, size_t unit)
{
	struct steps_pass *pass = steps->pass;
	struct step_row *row = &steps->rows[unit];
	struct waiting *waiting = pass->waiting[unit];
	struct target target = target_of(pass, row, waiting);
	uint64_t parts = 0, phases = 0;

	row->start_ns = target.from_ns;
	row->total_ns = (uint64_t)(target.to_ns - target.from_ns);
	if (waiting) {
		tell_unit(steps, unit, INT64_MAX);
		steps->late_ns += waiting->sweep.late_ns;
		free_waiting(waiting);
		pass->waiting[unit] = NULL;
	}
	for (size_t p = 0; p < PART_OTHER; p++)
		parts += row->exposed_ns[p];
	for (size_t p = 1; p < PHASES; p++)
		phases += row->phase_ns[p];
	row->exposed_ns[PART_OTHER] = row->total_ns - parts;
	row->phase_ns[PHASE_NONE] = row->total_ns - phases;
	pass->is_settled[unit] = true;
}

/* Too much waits: the oldest units are settled; a unit that alone is too much is told as far as half of it. */
static void make_room(struct steps *steps, size_t newest)
{
	struct steps_pass *pass = steps->pass;

	while (pass->pending > STEPS_PENDING / 2 && pass->oldest < steps->count) {
		size_t unit = pass->oldest;
		if (unit == newest || !pass->waiting[unit] || pass->is_settled[unit]) {
			pass->oldest++;
			continue;
		}
		settle(steps, unit);
	}
	if (pass->pending > STEPS_PENDING / 2 && pass->waiting[newest])
		tell_unit(steps, newest, sweep_middle(&pass->waiting[newest]->sweep));
	pass->oldest = 0;
	while (pass->oldest < steps->count && pass->is_settled[pass->oldest])
		pass->oldest++;
}

static struct device_work *work_of(struct waiting *waiting, size_t device)
{
	if (device >= waiting->device_count) {
		waiting->devices = realloc(waiting->devices, (device + 1) * sizeof(*waiting->devices));
		if (!waiting->devices)
			base_die("out of memory");
		while (waiting->device_count <= device)
			waiting->devices[waiting->device_count++] = (struct device_work){INT64_MAX, INT64_MIN};
	}
	return &waiting->devices[device];
}

/* Adds to what waits for a unit, of which more than nothing does. Returns whether room was made: others may be settled now. */
static inline __attribute__((always_inline)) bool add_waiting(struct steps *steps, size_t unit, struct waiting *waiting,
								 int64_t start_ns, int64_t end_ns, uint32_t mask, const struct span *span)
{
	struct steps_pass *pass = steps->pass;
	size_t before = waiting->sweep.count;

	waiting->is_given |= span->given_step != 0;
	if (span->on == SPAN_QUEUE) {
		size_t device = span->device < DEVICES_MOST ? span->device : DEVICES_MOST - 1;
		struct device_work *work = device < waiting->device_count ? &waiting->devices[device] : work_of(waiting, device);
		work->first_ns = start_ns < work->first_ns ? start_ns : work->first_ns;
		work->last_ns = end_ns > work->last_ns ? end_ns : work->last_ns;
		steps->rows[unit].has_device = true;
	}
	waiting->from_ns = start_ns < waiting->from_ns ? start_ns : waiting->from_ns;
	waiting->to_ns = end_ns > waiting->to_ns ? end_ns : waiting->to_ns;
	sweep_add(&waiting->sweep, start_ns, end_ns, mask);
	pass->pending += waiting->sweep.count - before;
	if (pass->pending <= STEPS_PENDING)
		return false;
	make_room(steps, unit);
	return true;
}

static void add(struct steps *steps, size_t unit, int64_t start_ns, int64_t end_ns, uint32_t mask, const struct span *span)
{
	struct steps_pass *pass = steps->pass;
	struct waiting *waiting = pass->waiting[unit];

	if (pass->is_settled[unit]) {
		steps->late_ns += end_ns > start_ns ? (uint64_t)(end_ns - start_ns) : 0;
		return;
	}
	if (!waiting) {
		waiting = pass->waiting[unit] = base_alloc(1, sizeof(*waiting));
		*waiting = (struct waiting){.sweep.told_ns = INT64_MIN, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	}
	add_waiting(steps, unit, waiting, start_ns, end_ns, mask, span);
}

/* By time: to each unit what lies in it. */
static void add_by_time(struct steps *steps, const struct span *span, uint32_t mask)
{
	struct steps_pass *pass = steps->pass;
	const struct unit *units = pass->units.items;
	int64_t end = span->start_ns + (int64_t)span->duration_ns;

	for (size_t l = 0; (l = steps_lane_at(pass, l, span->start_ns, end)) < pass->lane_count; l++) {
		struct lane *lane = &pass->lanes[l];
		size_t unit = steps_find_unit(pass, lane, span->on == SPAN_QUEUE ? HINT_DEVICE : HINT_HOST, span->start_ns);
		for (size_t i = unit == SIZE_MAX ? lane->from : unit; i < lane->to && units[i].start_ns < end; i++) {
			int64_t from = span->start_ns > units[i].start_ns ? span->start_ns : units[i].start_ns;
			int64_t to = end < units[i].end_ns ? end : units[i].end_ns;
			if (from < to)
				add(steps, i, from, to, mask, span);
		}
	}
}

/* By launch: to the unit that was open then; else to that of the work before it on its device. */
static void add_by_launch(struct steps *steps, const struct span *span, uint32_t mask)
{
	struct steps_pass *pass = steps->pass;
	size_t device = span->device < DEVICES_MOST ? span->device : DEVICES_MOST - 1, unit = SIZE_MAX;
	int64_t time = span->on != SPAN_QUEUE || span->called_ns == TIME_UNKNOWN ? span->start_ns : span->called_ns;

	for (size_t l = 0; unit == SIZE_MAX && (l = steps_lane_at(pass, l, time, time)) < pass->lane_count; l++) {
		size_t found = steps_find_unit(pass, &pass->lanes[l], span->on == SPAN_QUEUE ? HINT_DEVICE : HINT_HOST, time);
		const struct unit *at = found == SIZE_MAX ? NULL : &pass->units.items[found];
		if (at && time < (at->marked_ns == TIME_UNKNOWN ? at->end_ns : at->marked_ns))
			unit = found;
	}
	if (span->given_step) {
		uint32_t given = number_map_find(&pass->given, 0, span->given_step);
		unit = given == NUMBER_MAP_NONE ? unit : given;
	}
	if (span->on == SPAN_QUEUE) {
		if (span->called_ns == TIME_UNKNOWN && !span->given_step && pass->last_of[device] != SIZE_MAX)
			unit = pass->last_of[device];
		if (unit == SIZE_MAX)
			unit = pass->last_of[device];
		pass->last_of[device] = unit;
	}
	if (unit != SIZE_MAX)
		add(steps, unit, span->start_ns, span->start_ns + (int64_t)span->duration_ns, mask, span);
}

/* Times that lie, whole, in the unit that the span before lay in, where no other thread has units: most do. */
struct reach {
	int64_t from_ns, to_ns; /* to_ns before from_ns: that is not known at once */
	size_t unit;
	struct waiting *waiting;
};

static struct reach reach_of(const struct steps_pass *pass, bool is_of_device)
{
	const struct unit *unit;
	size_t at;

	if (pass->lane_count != 1 || pass->is_span || !pass->waiting[pass->lanes->hints[is_of_device]]) /* settled: nothing waits */
		return (struct reach){.from_ns = INT64_MAX, .to_ns = INT64_MIN};
	at = pass->lanes->hints[is_of_device];
	unit = &pass->units.items[at];
	return (struct reach){.from_ns = unit->start_ns,
			      .to_ns = at + 1 < pass->lanes->to && unit[1].start_ns < unit->end_ns ? unit[1].start_ns : unit->end_ns,
			      .unit = at,
			      .waiting = pass->waiting[at]};
}

static inline bool reaches(const struct reach *reach, int64_t start_ns, int64_t end_ns)
{
	return start_ns >= reach->from_ns && end_ns <= reach->to_ns && start_ns < end_ns;
}

/* Looks at Python code meanwhile saw no time of the part 'other'. */
static void cover(struct steps_pass *pass, int64_t start_ns, int64_t end_ns, uint32_t mask)
{
	if (part_of(mask, pass->parts.split) != PART_OTHER)
		looked_cover(&pass->looked, start_ns, end_ns);
}

/* To the unit or units that it is of. */
static void place(struct steps *steps, const struct span *span, uint32_t mask)
{
	int64_t end_ns = span->start_ns + (int64_t)span->duration_ns;
	struct reach reach = reach_of(steps->pass, span->on == SPAN_QUEUE);

	if (steps->pass->looked.count)
		cover(steps->pass, span->start_ns, end_ns, mask);

	if (reaches(&reach, span->start_ns, end_ns))
		add_waiting(steps, reach.unit, reach.waiting, span->start_ns, end_ns, mask, span);
	else if (steps->pass->is_span)
		add_by_launch(steps, span, mask);
	else
		add_by_time(steps, span, mask);
}

/* An Optimizer.step that learns as well, in what it calls back for, is the optimizer's from there on. */
static void place_behind_closure(struct steps *steps, const struct span *span, uint32_t mask)
{
	struct span rest = *span;

	rest.start_ns += (int64_t)span->closure_ns;
	rest.duration_ns -= span->closure_ns < span->duration_ns ? span->closure_ns : span->duration_ns;
	place(steps, &rest, mask);
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	struct steps *steps = result;
	struct reach reach[2] = {reach_of(steps->pass, false), reach_of(steps->pass, true)};

	for (size_t i = 0; i < count; i++) {
		int64_t start_ns = spans[i].start_ns, end_ns = start_ns + (int64_t)spans[i].duration_ns;
		uint32_t mask = part_classes(&steps->pass->parts, spans[i].like);
		const struct reach *near = &reach[spans[i].like->on == SPAN_QUEUE];

		if (!mask)
			continue;
		if (mask & PASS_CLASSES)
			steps_add_edges(steps, &spans[i], mask);
		if (reaches(near, start_ns, end_ns)) {
			if (steps->pass->looked.count)
				cover(steps->pass, start_ns, end_ns, mask);
			if (!add_waiting(steps, near->unit, near->waiting, start_ns, end_ns, mask, spans[i].like))
				continue;
		} else {
			struct span span;
			span_again_fill(&spans[i], &span);
			place(steps, &span, mask);
		}
		for (unsigned d = 0; d < 2; d++)
			reach[d] = reach_of(steps->pass, d);
	}
}

static void take(void *result, const struct span *span)
{
	struct steps *steps = result;

	if (span->what == SPAN_FLOPS) {
		steps_add_flops(steps, span);
		return;
	}
	/* What had not ended says nothing of where it did. */
	if (span->kind != SPAN_WHOLE || (span->is_open && span->what != SPAN_RANGE))
		return;
	if ((span->what == SPAN_OP || span->what == SPAN_RANGE) && span->source == SOURCE_eager &&
	    strncmp(span->name, "__inference_", 12) == 0)
		steps_note_function(steps->pass, span);
	uint32_t mask = part_classes(&steps->pass->parts, span);
	if (mask & PASS_CLASSES)
		steps_add_edges(steps, &(struct span_again){.like = span,
							    .start_ns = span->start_ns,
							    .duration_ns = span->duration_ns,
							    .called_ns = span->called_ns},
				mask);
	if (mask && span->closure_ns)
		place_behind_closure(steps, span, mask);
	else if (mask)
		place(steps, span, mask);
}

/* When Python code of a framework compiled, as its stacks say: known before the pass. */
static void add_tracings(struct steps *steps, const struct process *process)
{
	for (size_t i = 0; i < process->python.tracing_count; i++) {
		const struct python_tracing *tracing = &process->python.tracings[i];
		struct span span = {.kind = SPAN_WHOLE,
				    .what = SPAN_COMPILE,
				    .on = SPAN_THREAD,
				    .thread = tracing->thread,
				    .start_ns = tracing->from_ns,
				    .duration_ns = (uint64_t)(tracing->to_ns - tracing->from_ns),
				    .called_ns = TIME_UNKNOWN};
		looked_cover(&steps->pass->looked, tracing->from_ns, tracing->to_ns);
		if (steps->pass->is_span)
			add_by_launch(steps, &span, CLASS_BIT(PART_COMPILATION));
		else
			add_by_time(steps, &span, CLASS_BIT(PART_COMPILATION));
	}
}

/* An edge of a window stands some us before the step that made it: a hundredth outside is none. */
static bool is_unrecorded(const struct units *units, size_t i, const struct process *process)
{
	const struct unit *unit = &units->items[i];
	int64_t ns = unit->end_ns - unit->start_ns, recorded = windows_recorded_ns(process, unit->start_ns, unit->end_ns);

	return units->kind != UNIT_WHOLE && recorded < ns - ns / 100;
}

static void *begin(const struct analysis_input *input)
{
	struct steps *steps = base_alloc(1, sizeof(*steps));
	struct steps_pass *pass;

	if (!input)
		return steps;
	pass = steps->pass = base_alloc(1, sizeof(*pass));
	pass->input = input;
	units_make(&pass->units, input);
	pass->parts = (struct parts){.split = input->options->split,
				     .loops = input_loops_of(input->process),
				     .step_thread = pass->units.kind == UNIT_WHOLE ? 0 : pass->units.items[0].thread};
	pass->is_span = input->options->step_time == STEP_TIME_SPAN;
	pass->waiting = base_alloc(pass->units.count + 1, sizeof(*pass->waiting));
	pass->functions = base_alloc(pass->units.count + 1, sizeof(*pass->functions));
	pass->is_settled = base_alloc(pass->units.count + 1, sizeof(*pass->is_settled));
	for (size_t i = 0; i < DEVICES_MOST; i++)
		pass->last_of[i] = SIZE_MAX;
	for (size_t i = 0; pass->is_span && i < pass->units.count; i++)
		if (number_map_set(&pass->given, 0, pass->units.items[i].number + 1, (uint32_t)i) != 0)
			base_die("out of memory");
	make_lanes(pass);
	looked_begin(&pass->looked, input->process);
	steps->rows = base_alloc(pass->units.count + 1, sizeof(*steps->rows));
	steps->count = pass->units.count;
	steps->room = steps->count + 1;
	for (size_t i = 0; i < steps->count; i++)
		steps->rows[i] = (struct step_row){.log_id = input->process->log_id,
						   .process = input->index,
						   .unit = pass->units.items[i],
						   .kind = pass->units.kind,
						   .start_ns = pass->units.items[i].start_ns,
						   .edges = {NO_EDGES, NO_EDGES},
						   .is_evaluation = steps_is_scored(&pass->units.items[i], input->process),
						   .is_unrecorded = is_unrecorded(&pass->units, i, input->process)};
	if (pass->units.kind != UNIT_WHOLE && pass->parts.split == SPLIT_OURS)
		add_tracings(steps, input->process);
	return steps;
}

static void drop_pass(struct steps *steps)
{
	struct steps_pass *pass = steps->pass;

	for (size_t i = 0; i < pass->units.count; i++)
		free_waiting(pass->waiting[i]);
	free(pass->waiting);
	free(pass->functions);
	free(pass->is_settled);
	free(pass->lanes);
	free(pass->lane_times);
	free(pass->looked.times);
	number_map_free(&pass->given);
	parts_free(&pass->parts);
	units_free(&pass->units);
	free(pass);
	steps->pass = NULL;
}

/*
 * Calls that stand for steps, or all of a process, in none of which anything was done, say nothing. Requests have a length all the
 * same, where they are most of what was named: one of several things that a program does in turn is no request.
 */
static void end(void *result)
{
	struct steps *steps = result;
	const struct units *units = &steps->pass->units;
	bool has_work = false;

	for (size_t i = 0; i < steps->count; i++) {
		if (!steps->pass->is_settled[i])
			settle(steps, i);
		has_work |= steps->rows[i].has_work;
	}
	if (!has_work && (units->kind > UNIT_REQUEST || (units->kind == UNIT_REQUEST && units->share < REQUESTS_PART)))
		steps->count = 0;
	steps->unlooked = steps->count ? units->unlooked : 0;
	steps_find_evaluation(steps, steps->pass->functions);
	looked_end(&steps->pass->looked, steps->pass->input->process, &steps->looked);
	drop_pass(steps);
}

static void drop(void *result)
{
	struct steps *steps = result;

	if (steps->pass)
		drop_pass(steps);
	looked_free(&steps->looked);
	free(steps->rows);
	free(steps);
}

const struct analysis_kind analysis_steps = {
	.name = "steps",
	.wants = (SPAN_ALL & ~(SPAN_BIT(SPAN_STEP) | SPAN_BIT(SPAN_WINDOW) | SPAN_BIT(SPAN_MEMORY) | SPAN_BIT(SPAN_MARK) |
			       SPAN_BIT(SPAN_HOST_COPY))) |
		 SPAN_BIT(SPAN_FLOPS),
	.is_of_all_times = true,
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = steps_merge,
	.print = steps_print,
	.free = drop,
};
