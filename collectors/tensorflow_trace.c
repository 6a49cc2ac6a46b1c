/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TraceMe events; see collectors/tensorflow.h.
 *
 *   name#key=value,key=value#    values may hold commas; a number becomes a trace_number record, the rest stays one text
 *
 * Tracing of a tf.function tells of itself here too, as an event from its graph's making to the function that it became.
 *
 * Rule: what is stored is bounded: the changing numbers never become part of an interned text.
 */
#include "collectors/tensorflow_trace.h"

#include "collectors/heap.h"
#include "collectors/opnames.h"
#include "collectors/ranges.h"
#include "collectors/tensorflow_prove.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define TEXT_ROOM TFP_TENSORFLOW_PAGE
#define ARGUMENTS_MOST 16        /* numbers of one event */
#define TIME_BACK_NS 86400000000000LL /* a day: an event is younger; only while it is proved */

/* tsl::profiler::TraceMeRecorder::Event with libstdc++'s std::string. */
struct event {
	const char *text;
	uint64_t length;
	char within[16];
	int64_t start, end; /* ns since 1970; an end below 0 is -id of an activity that begins, a start below 0 of one that ends */
};
_Static_assert(sizeof(struct event) == 48, "as in TensorFlow 2.15 to 2.21");

static struct tfp_proof events, functions;

/* Eight bytes at a time: a byte of '#' becomes 0, and the lowest such one is found exactly. */
size_t tfp_tensorflow_plain(const char *name, size_t length)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	size_t i = 0;

	for (; i + sizeof ones <= length; i += sizeof ones) {
		uint64_t word;
		__builtin_memcpy(&word, name + i, sizeof word);
		word ^= ones * '#';
		uint64_t zeros = (word - ones) & ~word & ones << 7;
		if (zeros)
			return i + (size_t)__builtin_ctzll(zeros) / 8;
	}
	for (; i < length; i++)
		if (name[i] == '#')
			return i;
	return length;
}

static int is_young(int64_t time, int64_t now)
{
	return time > now - TIME_BACK_NS && time <= now + 1000000000;
}

/* What the layout of an event promises: a readable name, and times of this day. */
static int is_expected(const void *at)
{
	struct event event = {0};
	struct tfp_clock_set now;

	if (tfp_prove_read(&event, at, sizeof event) || !tfp_prove_text(event.text, event.length))
		return 0;
	tfp_clock_read(&now);
	int64_t time = (int64_t)now.realtime_ns;
	if (event.start < 0)
		return is_young(event.end, time);
	return is_young(event.start, time) && (event.end < 0 || (event.end >= event.start && is_young(event.end, time)));
}

/* A piece of arguments: key=value. */
struct piece {
	const char *key, *value;
	size_t key_length, value_length;
};

static int is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

const char *tfp_tensorflow_piece_end(const char *at, const char *end)
{
	for (; at < end; at++) {
		const char *word = at + 1;
		if (*at != ',')
			continue;
		while (word < end && is_word(*word))
			word++;
		if (word < end && *word == '=' && word > at + 1)
			return at;
	}
	return end;
}

static int as_number(const char *text, size_t length, uint64_t *number)
{
	size_t i = length && text[0] == '-';
	uint64_t value = 0;

	if (i == length || length > 20)
		return -1;
	for (; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*number = text[0] == '-' ? 0 - value : value;
	return 0;
}

char *tfp_tensorflow_page(struct tfp_thread *thread)
{
	if (!thread->op_text)
		thread->op_text = tfp_pages_get(TEXT_ROOM, 1);
	return thread->op_text;
}

/* Numbers of one event, kept until its own record is written. */
struct numbers {
	uint32_t count;
	uint32_t names[ARGUMENTS_MOST];
	uint64_t values[ARGUMENTS_MOST];
};

/* Tells numbers from the rest: those go to `numbers`, the rest becomes one text. Returns its id, 0 = nothing is left. */
static uint32_t split(struct tfp_thread *thread, const char *at, const char *end, struct numbers *numbers)
{
	char *page = tfp_tensorflow_page(thread);
	size_t used = 0;

	while (page && at < end) {
		const char *stop = tfp_tensorflow_piece_end(at, end), *value = at;
		uint64_t number;
		while (value < stop && *value != '=')
			value++;
		if (value < stop && numbers->count < ARGUMENTS_MOST && as_number(value + 1, (size_t)(stop - value - 1), &number) == 0) {
			numbers->names[numbers->count] = tfp_op_name(thread, at, (size_t)(value - at));
			numbers->values[numbers->count++] = number;
		} else if (stop > at && used + (size_t)(stop - at) + 1 < TEXT_ROOM) {
			if (used)
				page[used++] = ',';
			tfp_copy(page + used, at, (size_t)(stop - at));
			used += (size_t)(stop - at);
		}
		at = stop + 1;
	}
	return used ? tfp_op_name(thread, page, used) : 0;
}

static void put_event(struct tfp_thread *thread, struct tfp_lane *lane, const struct event *event)
{
	struct numbers numbers;
	uint64_t now = tfp_now();
	size_t length = event->length < TFP_PROVE_TEXT ? event->length : TFP_PROVE_TEXT;
	size_t plain = tfp_tensorflow_plain(event->text, length);
	const char *end = event->text + length;
	uint8_t kind = event->end < 0 ? 1 : event->start < 0 ? 2 : 0;
	int64_t start = kind == 2 ? event->end : event->start;
	int64_t duration = kind == 0 ? event->end - event->start : kind == 1 ? -event->end : -event->start;

	numbers.count = 0;
	if (plain < length && end > event->text + plain + 1 && end[-1] == '#')
		end--;
	uint32_t name = tfp_op_name(thread, event->text, plain);
	uint32_t arguments = plain < length ? split(thread, event->text + plain + 1, end, &numbers) : 0;
	TFP_PUT(thread, lane, now, trace, .name = name, .start = (uint64_t)start, .duration = (uint64_t)duration,
		.arguments = arguments, .source = TFP_FROM_traceme, .kind = kind);
	for (uint32_t i = 0; i < numbers.count; i++)
		TFP_PUT(thread, lane, now, trace_number, .name = numbers.names[i], .value = numbers.values[i]);
}

void tfp_tensorflow_record(const void *event)
{
	struct tfp_lane *lane;
	int was_refuted = events.is_refuted != 0;

	if (!tfp_tensorflow_is_settled())
		return;
	if (!TFP_PROVE(&events, is_expected(event))) {
		if (!was_refuted)
			tfp_tensorflow_refuted("TraceMe events are not laid out as expected: they are not recorded.");
		return;
	}
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return;
	put_event(thread, lane, event);
	tfp_thread_leave(thread);
}

/*
 * Graphs that are being traced, and such as never become a function. One lies at the first of GRAPH_TRIES places that was free; where none
 * was, the oldest there gives way, and has no event.
 */
#define GRAPHS 256u
#define GRAPH_TRIES 8u
static struct {
	_Atomic uintptr_t graph; /* 0 = free; written last */
	_Atomic uint64_t since;	 /* ns since 1970 */
} graphs[GRAPHS];

/* Graphs are of one size and often lie at equal distances: the factor (2^64 by the golden ratio) spreads these. */
static uint32_t graph_place(const void *graph, uint32_t tries)
{
	return ((uint32_t)(((uint64_t)(uintptr_t)graph >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) + tries) % GRAPHS;
}

#define TRACED "tf.function traced: "
#define NAME_MOST 200u /* bytes of a function's name that are kept */

static uint64_t realtime_now(void)
{
	struct tfp_clock_set now;

	tfp_clock_read(&now);
	return now.realtime_ns;
}

void tfp_tensorflow_graph_made(const void *graph)
{
	uint32_t best = graph_place(graph, 0);
	uint64_t oldest = UINT64_MAX;

	if (!graph || !tfp_tensorflow_is_settled())
		return;
	for (uint32_t i = 0; i < GRAPH_TRIES; i++) {
		uint32_t at = graph_place(graph, i);
		uintptr_t held = __atomic_load_n((uintptr_t *)&graphs[at].graph, __ATOMIC_ACQUIRE);
		if (held == (uintptr_t)graph) /* one that was here before it */
			__atomic_store_n((uintptr_t *)&graphs[at].graph, held = 0, __ATOMIC_RELEASE);
		uint64_t since = held ? __atomic_load_n((uint64_t *)&graphs[at].since, __ATOMIC_ACQUIRE) : 0;
		if (since < oldest) {
			oldest = since;
			best = at;
		}
	}
	__atomic_store_n((uintptr_t *)&graphs[best].graph, 0, __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)&graphs[best].since, realtime_now(), __ATOMIC_RELEASE);
	__atomic_store_n((uintptr_t *)&graphs[best].graph, (uintptr_t)graph, __ATOMIC_RELEASE);
}

/* When the making of a graph began, which from then on is none that is traced; 0 = it is not known. */
static uint64_t graph_since(const void *graph)
{
	for (uint32_t i = 0; graph && i < GRAPH_TRIES; i++) {
		uint32_t at = graph_place(graph, i);
		uintptr_t expected = (uintptr_t)graph;
		uint64_t since = __atomic_load_n((uint64_t *)&graphs[at].since, __ATOMIC_ACQUIRE);
		if (__atomic_compare_exchange_n((uintptr_t *)&graphs[at].graph, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return since;
	}
	return 0;
}

/* "__inference_NAME_12", 12 another one each time, without what changes. */
static uint32_t traced_name(struct tfp_thread *thread, const char *name)
{
	static const char made[] = "__inference_";
	char *page = tfp_tensorflow_page(thread);
	size_t length = tfp_length(name), used = sizeof TRACED - 1, digits;

	if (length > sizeof made - 1 && tfp_same(name, made, sizeof made - 1)) {
		name += sizeof made - 1;
		length -= sizeof made - 1;
	}
	for (digits = length; digits && name[digits - 1] >= '0' && name[digits - 1] <= '9';)
		digits--;
	if (digits > 1 && digits < length && name[digits - 1] == '_')
		length = digits - 1;
	length = length < NAME_MOST ? length : NAME_MOST;
	if (!page)
		return 0;
	tfp_copy(page, TRACED, used);
	tfp_copy(page + used, name, length);
	return tfp_op_name(thread, page, used + length);
}

void tfp_tensorflow_graph_traced(const void *graph, const char *name)
{
	uint64_t since = graph_since(graph), now = realtime_now();
	struct tfp_lane *lane;

	if (!since || now < since || !name || !TFP_PROVE(&functions, tfp_prove_text(name, 1)) || name[0] != '_' || name[1] != '_')
		return; /* other names are those of branches and loops inside a function, in whose tracing they lie */
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), trace, .name = traced_name(thread, name), .start = since, .duration = now - since,
		.source = TFP_FROM_traceme);
	tfp_thread_leave(thread);
}
