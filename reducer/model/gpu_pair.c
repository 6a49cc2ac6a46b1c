/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call started which work on the device; what has no partner, and why.
 *
 * Rule: the correlation id decides, never the order or the time. Every launch is settled into exactly one class; a reason
 * is named only where the log gives it.
 */
#include "reducer/model/gpu_scan.h"

#include "reducer/model/gpu_launches.h"
#include "reducer/model/windows.h"
#include "reducer/read/schema.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_NONE, STATE_CUPTI, STATE_REFUSED, STATE_TAKEN, STATE_WINDOW, STATE_FAILED }; /* gpu_state.state */
enum { LOSS_DROPPED = 19, LOSS_UNREADABLE = 20, LOSS_NONE = 22, LOSS_UNFLUSHED = 24 };  /* losses.def */

static int is_launch_kind(enum gpu_kind kind)
{
	return kind >= GPU_LAUNCH && kind <= GPU_GRAPH;
}

int gpu_has_ticks(const struct gpu_scan *scan, uint64_t ticks)
{
	int64_t ns = process_ns(scan->scan->process, ticks);

	return ns >= scan->from_ns && ns <= scan->to_ns;
}

int gpu_wants_device(const struct gpu_scan *scan, uint64_t ns)
{
	return !scan->has_window || gpu_wants_ticks(scan, gpu_clock_ticks(scan->clock, ns, NULL));
}

/* What no later record can explain: known when the call is. REASON_NONE: wait for the device. */
static enum gpu_reason reason_now(const struct gpu_scan *scan, const struct gpu_flight *flight)
{
	if (flight->is_failed)
		return GPU_REASON_FAILED;
	if (flight->is_captured)
		return GPU_REASON_CAPTURED;
	if (flight->is_empty)
		return GPU_REASON_EMPTY;
	if (strcmp(process_setting(scan->scan->process, "CUDA"), "hooks") == 0)
		return GPU_REASON_HOOKS;
	switch (flight->state) {
	case STATE_REFUSED + 1:
		return GPU_REASON_REFUSED;
	case STATE_TAKEN + 1:
		return GPU_REASON_TAKEN;
	case STATE_FAILED + 1:
		return GPU_REASON_CUPTI_FAILED;
	case STATE_WINDOW + 1:
		return GPU_REASON_WINDOW;
	case STATE_NONE + 1:
		return GPU_REASON_NOT_STARTED;
	}
	return GPU_REASON_NONE;
}

static uint64_t losses(const struct process *process, unsigned kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < process->loss_count; i++)
		count += process->losses[i].kind == kind ? process->losses[i].count : 0;
	return count;
}

/* The end of the log came before the device's record: at most `grain` ticks before the last one that was read. */
static int is_cut_off(const struct gpu_scan *scan, const struct gpu_flight *flight, uint64_t grain)
{
	const struct process *process = scan->scan->process;
	int died = process->end != END_EXIT || losses(process, LOSS_UNFLUSHED) > 0;

	return died && flight->end + grain >= scan->last_decoded;
}

/* A window opened or closed less than a second from there, other than at the start of all. */
static int is_near_edge(const struct gpu_scan *scan, uint64_t ticks)
{
	const struct process *process = scan->scan->process;
	uint64_t second = scan->flights.wait_ticks * 2 / 5;

	uint64_t from = ticks > second ? ticks - second + 1 : 0;

	for (size_t i = windows_edge_at(process, (int64_t)from); i < process->window_count; i++) {
		if ((uint64_t)process->windows[i].time_ns >= ticks + second) /* still ticks */
			break;
		if (!process->windows[i].is_open || process->windows[i].cause != 0)
			return 1;
	}
	return scan->last_off != 0 && (scan->last_off > ticks ? scan->last_off - ticks : ticks - scan->last_off) < second;
}

/* The file ends before what its writer had put there. */
static int is_log_cut(const struct gpu_scan *scan)
{
	const struct log *log = scan->scan->process->log;

	return log->torn.offset != 0 || log->live.file_end > log->bytes;
}

/* CUPTI refused the kind of record that the call would have made: the log's notes say so, in words of cupti_kinds.def. */
static int is_kind_refused(const struct process *process, const struct gpu_flight *flight)
{
	static const struct {
		unsigned kind;
		const char *words;
	} refused[] = {{GPU_LAUNCH, "CUPTI does not record kernels:"}, {GPU_COPY, "CUPTI does not record copies:"},
		       {GPU_COPY, "CUPTI does not record copies between devices:"}, {GPU_SET, "CUPTI does not record sets:"},
		       {GPU_GRAPH, "CUPTI does not record graphs:"}};

	for (size_t i = 0; i < process->note_count; i++)
		for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
			if (refused[k].kind == flight->kind && strcmp(process->notes[i].name, "cupti_kind") == 0 &&
			    strncmp(process->notes[i].value, refused[k].words, strlen(refused[k].words)) == 0)
				return 1;
	return 0;
}

/* Events were lost (losses.def): records of calls or of devices may be among them; of other losses only stacks, names or precision. */
static bool lost_events(const struct process *process)
{
	for (size_t i = 0; i < process->loss_count; i++) {
		unsigned kind = process->losses[i].kind;
		if (((kind >= 1 && kind <= 7) || kind == 9 || kind == 14 || kind == 16 || kind == 17) && process->losses[i].count > 0)
			return true;
	}
	return false;
}

/* A call without an identity is judged when it comes: nothing has been told of CUPTI by then, but that such calls were counted. */
static int is_before_first(const struct gpu_scan *scan, const struct gpu_flight *flight)
{
	return flight->correlation == 0 && flight->state == 0 && losses(scan->scan->process, LOSS_NONE) > 0;
}

static enum gpu_reason host_reason(const struct gpu_scan *scan, const struct gpu_flight *flight, int is_crowded)
{
	enum gpu_reason reason = reason_now(scan, flight);
	uint64_t second = scan->flights.wait_ticks * 2 / 5;

	if (reason != GPU_REASON_NONE)
		return reason;
	if (is_crowded)
		return GPU_REASON_CROWDED;
	if (is_log_cut(scan))
		return GPU_REASON_LOG_CUT;
	if (is_kind_refused(scan->scan->process, flight))
		return GPU_REASON_KIND_REFUSED;
	if (process_is_foreign(scan->scan->process))
		return GPU_REASON_NOT_IN_FILE;
	if (is_cut_off(scan, flight, 0) || (scan->ends != 0 && flight->end >= scan->ends))
		return GPU_REASON_DIED;
	if (losses(scan->scan->process, LOSS_DROPPED) > 0)
		return GPU_REASON_DROPPED;
	if (losses(scan->scan->process, LOSS_UNREADABLE) > 0)
		return GPU_REASON_UNREADABLE;
	if (is_cut_off(scan, flight, second)) /* more than a flush period */
		return GPU_REASON_DIED;
	if (scan->first_on != 0 ? flight->begin < scan->first_on : is_before_first(scan, flight))
		return GPU_REASON_NOT_STARTED;
	if (flight->correlation == 0)
		return GPU_REASON_NO_IDENTITY;
	if (is_near_edge(scan, flight->begin))
		return GPU_REASON_WINDOW;
	if (lost_events(scan->scan->process) || scan->scan->process->log->live.dropped_from != 0)
		return GPU_REASON_RECORD_LOST;
	return flight->kind == GPU_GRAPH ? GPU_REASON_SILENT_GRAPH : GPU_REASON_UNKNOWN;
}

static enum gpu_reason device_reason(const struct gpu_scan *scan, const struct gpu_flight *flight)
{
	const struct process *process = scan->scan->process;
	uint64_t started = flight->first == 0 ? 0 : gpu_clock_ticks(scan->clock, flight->first, NULL);

	if (flight->correlation == 0)
		return GPU_REASON_DEVICE_LAUNCH;
	if (is_log_cut(scan))
		return GPU_REASON_LOG_CUT;
	if (lost_events(process))
		return GPU_REASON_CALL_LOST;
	if (scan->first_on != 0 && started != 0 && started < scan->first_on)
		return GPU_REASON_NOT_STARTED;
	if (process->log->live.dropped_from != 0)
		return GPU_REASON_CALL_LOST;
	return started != 0 && is_near_edge(scan, started) ? GPU_REASON_WINDOW : GPU_REASON_NO_CALL;
}

void gpu_pair_keep(struct gpu_scan *scan, const struct gpu_launch *launch)
{
	if (scan->gpu->launches == NULL)
		scan->gpu->launches = gpu_launches_make();
	gpu_launches_put(scan->gpu->launches, launch);
}

static void keep_launch(struct gpu_scan *scan, const struct gpu_flight *flight, enum gpu_pairing pairing, enum gpu_reason reason)
{
	int has_call = (flight->has & FLIGHT_CALL) != 0;

	if (!scan->keeps_launches)
		return;
	gpu_pair_keep(scan, &(struct gpu_launch){
		.host_ns = has_call ? (int64_t)(flight->begin & INT64_MAX) : TIME_UNKNOWN, .host_duration_ns = flight->end - flight->begin,
		.device_ns = flight->first == 0 ? TIME_UNKNOWN : (int64_t)(flight->first & INT64_MAX),
		.device_span_ns = flight->last - flight->first, .correlation = flight->correlation, .bytes = flight->bytes,
		.function = has_call ? flight->function : GPU_NONE, .shape = flight->shape, .queue = flight->queue,
		.thread = flight->thread, .op = flight->op, .stack = flight->stack, .records = flight->records,
		.graph = flight->graph, .kernel = flight->kernel, .kind = flight->kind, .pairing = (uint8_t)pairing,
		.reason = (uint8_t)reason, .impossible = flight->impossible, .copy_kind = flight->copy_kind});
}

static void count_span(struct gpu_scan *scan, const struct gpu_flight *flight)
{
	struct gpu_graph *graph = flight->graph == 0 ? NULL : gpu_graph_at(scan, flight->graph);
	uint64_t span = flight->last - flight->first;

	if (graph == NULL)
		return;
	graph->launches++;
	graph->host_ns += flight->end - flight->begin;
	if (flight->first == 0)
		return;
	graph->span_ns += span;
	graph->longest_ns = span > graph->longest_ns ? span : graph->longest_ns;
	graph->shortest_ns = graph->spans == 0 || span < graph->shortest_ns ? span : graph->shortest_ns;
	graph->spans++;
}

/* Times are ticks until gpu_times. */
static void count_unfinished(struct gpu_unfinished *all, const struct gpu_flight *flight)
{
	if (all->count++ != 0 && (uint64_t)all->first_ns <= flight->begin)
		return;
	all->first_ns = (int64_t)(flight->begin & INT64_MAX);
	all->function = flight->function;
	all->kernel = flight->kernel;
	all->thread = flight->thread;
}

static void settle_pending(struct gpu_scan *scan, struct gpu_flight *flight);

/* A call that waits, without a word from CUPTI what for. */
static void only_call_waited(struct gpu_scan *scan, const struct gpu_flight *flight)
{
	const struct gpu_wait key = {.function = flight->function, .context = GPU_NONE, .stream = GPU_NONE, .event = GPU_NONE,
				     .thread = flight->thread};

	if (gpu_wants_ticks(scan, flight->begin))
		gpu_sum_wait(scan, &key, flight->end - flight->begin, 1, flight->end - flight->begin);
}

void gpu_pair_settle(void *context, struct gpu_flight *flight, int is_crowded)
{
	struct gpu_scan *scan = context;
	struct gpu_counts *counts = &scan->gpu->counts;
	enum gpu_pairing pairing = GPU_PAIRED;
	enum gpu_reason reason = GPU_REASON_NONE;

	if (flight->library != 0)
		gpu_library_leave(scan, flight->library);
	settle_pending(scan, flight);
	if (flight->kind == GPU_SYNC && flight->has & FLIGHT_CALL && !flight->is_waited && !flight->is_failed)
		only_call_waited(scan, flight);
	if (!(flight->has & FLIGHT_DEVICE) && !is_launch_kind(flight->kind))
		return;
	if (!(flight->has & FLIGHT_CALL)) {
		pairing = GPU_DEVICE_ONLY;
		reason = is_crowded ? GPU_REASON_CROWDED : device_reason(scan, flight);
	} else if (!(flight->has & FLIGHT_DEVICE)) {
		reason = host_reason(scan, flight, is_crowded);
		pairing = reason == GPU_REASON_CAPTURED || reason == GPU_REASON_FAILED || reason == GPU_REASON_EMPTY ? GPU_NOT_LAUNCHED
														  : GPU_HOST_ONLY;
	}
	if (flight->has & FLIGHT_CALL && flight->first != 0)
		gpu_fault_worked(&scan->fault, flight->begin);
	if ((flight->has & FLIGHT_CALL && flight->impossible == GPU_NO_TIME && flight->first == 0) ||
	    (pairing == GPU_HOST_ONLY && reason == GPU_REASON_DIED))
		gpu_fault_endless(scan, flight);
	if (!gpu_wants_ticks(scan, flight->has & FLIGHT_CALL ? flight->begin : gpu_clock_ticks(scan->clock, flight->first, NULL)))
		return;
	counts->launches[pairing]++;
	counts->reasons[pairing][reason]++;
	counts->kinds[pairing][flight->kind]++;
	if (pairing == GPU_HOST_ONLY && reason == GPU_REASON_DIED)
		count_unfinished(&scan->gpu->unfinished, flight);
	if (flight->kind == GPU_GRAPH && pairing == GPU_PAIRED)
		count_span(scan, flight);
	keep_launch(scan, flight, pairing, reason);
}

/* A flight that lives only for a moment: nothing can be matched to it. */
static void settle_alone(struct gpu_scan *scan, struct gpu_flight *flight)
{
	gpu_pair_settle(scan, flight, 0);
}

static void fill_call(struct gpu_scan *scan, struct gpu_flight *flight, const struct gpu_call *call,
		      const struct gpu_arguments *arguments)
{
	flight->has |= FLIGHT_CALL;
	flight->begin = call->begin;
	flight->end = call->end;
	flight->function = call->function;
	flight->thread = call->thread;
	flight->op = call->op;
	flight->stack = call->stack;
	if (!(flight->has & FLIGHT_DEVICE) || is_launch_kind(call->kind))
		flight->kind = (uint8_t)call->kind;
	flight->is_captured = (call->flags & 4) != 0;
	flight->is_failed = call->result != 0;
	flight->state = (uint8_t)(scan->state + 1);
	if (arguments->is_object || arguments->is_library || arguments->kind != call->kind)
		return;
	if (call->kind == GPU_LAUNCH)
		flight->kernel = gpu_kernel_by_hash(scan, arguments->values[0]);
	if (call->kind == GPU_COPY || call->kind == GPU_SET) {
		flight->bytes = flight->bytes == 0 ? arguments->values[0] : flight->bytes;
		flight->is_empty = arguments->values[0] == 0;
	}
}

static void make(struct gpu_flight *flight)
{
	flight->shape = flight->queue = flight->kernel = GPU_NONE;
}

struct gpu_flight *gpu_pair_find(struct gpu_scan *scan, uint64_t correlation)
{
	if (correlation == 0)
		return NULL;
	gpu_usual_yield(scan, correlation);
	return flights_find(&scan->flights, correlation);
}

void gpu_pair_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	struct gpu_flight alone = {0}, *flight = gpu_pair_find(scan, call->correlation);
	int is_lonely;

	if (flight != NULL && flight->has & FLIGHT_CALL) {
		scan->gpu->counts.repeated_calls++;
		flight = NULL;
	} else if (flight == NULL && call->correlation != 0) {
		flight = flights_add(&scan->flights, call->correlation, call->end);
		if (flight != NULL)
			make(flight);
	}
	is_lonely = flight == NULL;
	if (is_lonely) {
		flight = &alone;
		make(flight);
		alone.correlation = call->correlation;
	}
	fill_call(scan, flight, call, arguments);
	if (is_launch_kind(call->kind))
		flight->library = gpu_library_enter(scan, call->stream);
	if (is_lonely)
		settle_alone(scan, flight);
	else
		settle_pending(scan, flight);
}

/* Does the record end later than it was read? Most end before the time of one that was read earlier: no need to look. */
static int is_in_future(struct gpu_scan *scan, const struct gpu_record *record, uint64_t end)
{
	uint64_t error = 0;

	if (end <= scan->passed_ns)
		return 0;
	scan->passed_ns = gpu_clock_ns(scan->clock, record->time, &error);
	return end > scan->passed_ns && end - scan->passed_ns > error + GPU_SKEW_NS;
}

unsigned gpu_impossible(struct gpu_scan *scan, const struct gpu_record *record, uint64_t call, uint64_t *begin)
{
	uint64_t error = 0, end = record->start + record->duration;
	unsigned bits = 0;

	*begin = 0;
	if (record->start == 0 || end == 0)
		return GPU_NO_TIME;
	if (record->duration > INT64_MAX || end < record->start)
		return GPU_BACKWARDS;
	if (is_in_future(scan, record, end))
		bits |= GPU_IN_FUTURE;
	if (call == UINT64_MAX)
		return bits;
	*begin = gpu_clock_ns(scan->clock, call, &error);
	if (record->start < *begin && *begin - record->start > error + GPU_SKEW_NS)
		bits |= GPU_BEFORE_CALL;
	if (error > scan->gpu->clock_error_ns && scan->gpu->has_clock)
		scan->gpu->clock_error_ns = error;
	return bits;
}

static void count_impossible(struct gpu_scan *scan, unsigned bits)
{
	scan->gpu->counts.impossible_records += bits != 0;
	for (unsigned i = 0; i < GPU_IMPOSSIBLE_KINDS; i++)
		scan->gpu->counts.impossible[i] += bits >> i & 1;
}

/* The span of a flight on the device, from its records with sane times. */
static void widen_span(struct gpu_flight *flight, const struct gpu_record *record)
{
	uint64_t end = record->start + record->duration;

	if (flight->first == 0 || record->start < flight->first)
		flight->first = record->start;
	if (end > flight->last)
		flight->last = end;
}

/* The call is known, or there will be none: the record counts. */
static void join(struct gpu_scan *scan, struct gpu_flight *flight, const struct gpu_record *record)
{
	uint64_t begin;
	unsigned bits = gpu_impossible(scan, record, flight->has & FLIGHT_CALL ? flight->begin : UINT64_MAX, &begin);
	int is_first = flight->records == 1 && flight->has & FLIGHT_CALL;

	count_impossible(scan, bits);
	flight->impossible |= (uint8_t)bits;
	if (bits == 0)
		widen_span(flight, record);
	if (bits == 0 && is_first && record->kind == GPU_LAUNCH && record->graph == 0 && !(scan->without & RUN_SUM_DELAYS))
		spread_add(&scan->gpu->queue_delays, record->start > begin ? record->start - begin : 0);
	gpu_sum_record(scan, record, flight->has & FLIGHT_CALL ? flight : NULL, bits);
	if (flight->library != 0)
		gpu_library_ran(scan, flight->library,
				record->kind == GPU_LAUNCH && record->shape != GPU_NONE ? scan->gpu->shapes[record->shape].kernel
										    : GPU_NONE,
				bits == 0 ? record->duration : 0);
}

/* A wait, with the call that waited, or none. */
static void join_wait(struct gpu_scan *scan, struct gpu_flight *flight, const struct gpu_record *record)
{
	int has_call = (flight->has & FLIGHT_CALL) != 0, is_sane = record->start != 0 && record->duration <= INT64_MAX;
	struct gpu_wait key = {.function = has_call ? flight->function : GPU_NONE, .kind = record->copy_kind,
			       .context = record->source, .stream = record->destination, .event = record->flags,
			       .thread = has_call ? flight->thread : 0};

	if (gpu_wants_device(scan, record->start))
		gpu_sum_wait(scan, &key, record->duration, is_sane, has_call && !flight->is_waited ? flight->end - flight->begin : 0);
	if (has_call && !flight->is_failed)
		gpu_fault_waited(scan, flight, record);
	flight->is_waited = 1;
}

static void settle_pending(struct gpu_scan *scan, struct gpu_flight *flight)
{
	while (flight->pending != 0) {
		uint32_t place = flight->pending;
		struct gpu_record *record = &scan->pending[place - 1];

		if (record->kind == GPU_SYNC)
			join_wait(scan, flight, record);
		else
			join(scan, flight, record);
		flight->pending = record->next;
		record->next = scan->pending_free;
		scan->pending_free = place;
	}
}

/* Keeps a record until its call comes. Returns -1 where there is no room. */
static int keep_pending(struct gpu_scan *scan, struct gpu_flight *flight, const struct gpu_record *record)
{
	uint32_t place = scan->pending_free;

	if (place != 0) {
		scan->pending_free = scan->pending[place - 1].next;
	} else {
		struct gpu_record *wider = scan->pending_count >= GPU_PENDING_MAX
						   ? NULL
						   : model_room(scan->pending, scan->pending_count, sizeof *wider);

		if (wider == NULL)
			return -1;
		scan->pending = wider;
		place = ++scan->pending_count;
	}
	scan->pending[place - 1] = *record;
	scan->pending[place - 1].next = flight->pending;
	flight->pending = place;
	return 0;
}

static void describe(struct gpu_flight *flight, const struct gpu_record *record)
{
	if (flight->records++ == 0) {
		flight->shape = record->shape;
		flight->queue = record->queue;
		flight->copy_kind = (uint8_t)record->copy_kind;
		flight->bytes = record->bytes;
	} else {
		flight->bytes += record->bytes;
	}
	if (record->graph != 0 || record->kind == GPU_GRAPH) {
		flight->graph = record->graph;
		flight->kind = GPU_GRAPH;
	} else if (!is_launch_kind(flight->kind)) {
		flight->kind = (uint8_t)record->kind;
	}
	flight->has |= FLIGHT_DEVICE;
}

void gpu_pair_record(struct gpu_scan *scan, const struct gpu_record *record)
{
	struct gpu_flight alone = {0}, *flight = gpu_pair_find(scan, record->correlation);
	uint64_t key = gpu_double_key(record);

	scan->gpu->counts.device_records++;
	scan->last_decoded = record->time;
	if (flight == NULL && record->start != 0 && flights_had(&scan->flights, record->correlation, key)) {
		scan->gpu->counts.duplicates++;
		return;
	}
	if (flight == NULL && record->correlation != 0) {
		flight = flights_add(&scan->flights, record->correlation, record->time);
		if (flight != NULL)
			make(flight);
	}
	if (flight == NULL) {
		make(&alone);
		describe(&alone, record);
		join(scan, &alone, record);
		alone.correlation = record->correlation;
		settle_alone(scan, &alone);
		return;
	}
	if (record->start != 0 && (flight->doubles[0] == key || flight->doubles[1] == key)) {
		scan->gpu->counts.duplicates++;
		return;
	}
	flight->doubles[flight->records != 0] = key;
	describe(flight, record);
	flights_touch(&scan->flights, flight, record->time);
	if (flight->has & FLIGHT_CALL)
		join(scan, flight, record);
	else if (keep_pending(scan, flight, record) != 0)
		join(scan, flight, record);
}

void gpu_pair_wait(struct gpu_scan *scan, const struct gpu_record *record)
{
	struct gpu_flight alone = {0}, *flight = gpu_pair_find(scan, record->correlation);

	scan->last_decoded = record->time;
	if (flight == NULL && record->correlation != 0) {
		flight = flights_add(&scan->flights, record->correlation, record->time);
		if (flight != NULL)
			make(flight);
	}
	if (flight == NULL)
		join_wait(scan, &alone, record);
	else if (flight->has & FLIGHT_CALL || keep_pending(scan, flight, record) != 0)
		join_wait(scan, flight, record);
}
