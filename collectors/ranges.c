/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, marks and steps; see collectors/ranges.h. */
#include "collectors/ranges.h"

#include "collectors/heap.h"
#include "collectors/repeats.h"
#include "collectors/window.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

static const uint8_t trust_of[TFP_RANGE_SOURCES] = {
#define TFP_RANGE_SOURCE(number, name, trust, help) [number] = trust,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
};

/* Kept across fork: a child goes on counting where its parent was. */
static _Atomic uint64_t last_range;                  /* id of a process-wide range */
static _Atomic uint64_t steps_of[TFP_RANGE_SOURCES]; /* number of the last step */
static _Atomic uint32_t best_trust;                  /* of the sources that have marked a step */

/* The thread and the lane to write to; NULL where nothing can be recorded. Pairs with tfp_thread_leave. */
static inline struct tfp_thread *enter(struct tfp_lane **lane)
{
	struct tfp_thread *thread = tfp_self;

	if (TFP_UNLIKELY(!thread || thread->is_ready != 1)) {
		thread = tfp_thread_start();
		if (!thread)
			return NULL;
	}
	return tfp_thread_enter_lane(thread, lane);
}

/* The slow look that hooked calls take turns at: a host that only pushes ranges must see its windows close. */
static inline void count_call(struct tfp_thread *thread, struct tfp_lane *lane)
{
	if (TFP_UNLIKELY(--thread->calls_left <= 0 || tfp_window_is_due(tfp_now())))
		tfp_look(thread, lane);
}

static void put_detail(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, const struct tfp_range_detail *detail)
{
	if (detail->payload_type || detail->category || detail->colour)
		TFP_PUT(thread, lane, now, range_detail, .payload = detail->payload, .category = detail->category,
			.colour = detail->colour, .payload_type = detail->payload_type);
	if (detail->payload_type == 255)
		TFP_PUT(thread, lane, now, range_words, .schema = detail->schema, .bytes = detail->bytes,
			.a = detail->words[0], .b = detail->words[1], .c = detail->words[2], .d = detail->words[3]);
}

/* Digits at the end of a text, as the number of a step; TFP_STEP_COUNTED where there are none, or too many. */
static uint64_t number_in(const char *text)
{
	size_t length = tfp_length(text), from = length;
	uint64_t number = 0;

	while (from && text[from - 1] >= '0' && text[from - 1] <= '9')
		from--;
	if (from == length || length - from > 18)
		return TFP_STEP_COUNTED;
	for (; from < length; from++)
		number = number * 10 + (uint64_t)(text[from] - '0');
	return number;
}

static void note_step(enum tfp_range_source source, const struct tfp_range_name *name, uint64_t id,
		      const struct tfp_range_detail *detail)
{
	uint64_t number = name->text ? number_in(name->text) : TFP_STEP_COUNTED;

	if (number == TFP_STEP_COUNTED && detail && (detail->payload_type == 1 || detail->payload_type == 4))
		number = detail->payload;
	tfp_step_begin(source, number, id);
}

/* The name's id; where STEP_RANGE matches it the step is noted first. Leaves the lane for that and enters it again. */
static inline __attribute__((always_inline)) struct tfp_thread *named(struct tfp_thread *thread, struct tfp_lane **lane,
								      enum tfp_range_source source,
								      const struct tfp_range_name *name,
								      const struct tfp_range_detail *detail, uint64_t *id)
{
	struct tfp_name room;
	uint32_t is_step = name->is_step;

	*id = name->id;
	if (name->text) {
		const struct tfp_name *found = tfp_name_of(*lane, name->text, &room);
		*id = found->id;
		is_step = found->is_step;
	}
	if (TFP_UNLIKELY(is_step)) {
		tfp_thread_leave(thread);
		note_step(source, name, *id, detail);
		return enter(lane);
	}
	return thread;
}

void tfp_range_push(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
		    const struct tfp_range_detail *detail)
{
	struct tfp_lane *lane;
	uint64_t id;

	if (!tfp_range_is_wanted())
		return;
	struct tfp_thread *thread = enter(&lane);
	if (thread)
		thread = named(thread, &lane, source, name, detail, &id);
	if (!thread)
		return;
	if (tfp_is_open) {
		uint64_t now = tfp_now();
		if (TFP_UNLIKELY(detail != NULL))
			put_detail(thread, lane, now, detail);
		TFP_PUT(thread, lane, now, range_push, .name = id, .domain = domain, .source = (uint8_t)source);
		count_call(thread, lane);
	}
	tfp_thread_leave(thread);
}

/* Whether the usual road is open: a window, the thread's own first lane, room. What else there is takes the general one. */
static inline __attribute__((always_inline)) struct tfp_lane *enter_usual(struct tfp_thread *thread, size_t bytes)
{
	struct tfp_lane *lane;

	if (TFP_UNLIKELY(!tfp_is_open || !thread || thread->depth || !tfp_thread_enter_lane(thread, &lane)))
		return NULL;
	if (__builtin_expect((size_t)(lane->end - lane->cursor) >= bytes, 1))
		return lane;
	tfp_thread_leave(thread);
	return NULL;
}

static __attribute__((noinline)) void look_and_leave(struct tfp_thread *thread, struct tfp_lane *lane)
{
	tfp_look(thread, lane);
	tfp_thread_leave(thread);
}

void tfp_range_push_text(enum tfp_range_source source, uint32_t domain, const char *text)
{
	struct tfp_thread *thread = tfp_self;
	struct tfp_lane *lane = enter_usual(thread, sizeof(struct tfp_record_range_push));

	if (__builtin_expect(lane != NULL, 1)) {
		const struct tfp_name *name = tfp_name_known(lane, text);
		if (__builtin_expect(name && !name->is_step, 1)) {
			uint64_t now = tfp_now();
			TFP_PUT(thread, lane, now, range_push, .name = name->id, .domain = domain, .source = (uint8_t)source);
			if (TFP_UNLIKELY(--thread->calls_left <= 0 || tfp_window_is_due(now)))
				look_and_leave(thread, lane);
			else
				tfp_thread_leave(thread);
			return;
		}
		tfp_thread_leave(thread);
	}
	tfp_range_push(source, domain, &(struct tfp_range_name){.text = text}, NULL);
}

static __attribute__((noinline)) void pop_any(enum tfp_range_source source, uint32_t domain, uint64_t now)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, now, range_pop, .domain = domain, .source = (uint8_t)source);
	tfp_thread_leave(thread);
}

void tfp_range_pop(enum tfp_range_source source, uint32_t domain)
{
	struct tfp_thread *thread = tfp_self;

	if (!tfp_is_open)
		return;
	uint64_t now = tfp_now(); /* the range ends before our own work */
	struct tfp_lane *lane = enter_usual(thread, sizeof(struct tfp_record_range_pop));
	if (TFP_UNLIKELY(!lane)) {
		pop_any(source, domain, now);
		return;
	}
	TFP_PUT(thread, lane, now, range_pop, .domain = domain, .source = (uint8_t)source);
	tfp_thread_leave(thread);
}

void tfp_range_mark(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
		    const struct tfp_range_detail *detail)
{
	struct tfp_lane *lane;
	uint64_t id;

	if (!tfp_range_is_wanted())
		return;
	struct tfp_thread *thread = enter(&lane);
	if (thread)
		thread = named(thread, &lane, source, name, detail, &id);
	if (!thread)
		return;
	if (tfp_is_open) {
		uint64_t now = tfp_now();
		if (detail)
			put_detail(thread, lane, now, detail);
		TFP_PUT(thread, lane, now, mark, .name = id, .domain = domain, .source = (uint8_t)source);
		count_call(thread, lane);
	}
	tfp_thread_leave(thread);
}

uint64_t tfp_range_start(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
			 const struct tfp_range_detail *detail)
{
	struct tfp_lane *lane;
	uint64_t range = ++last_range, id;

	if (!tfp_range_is_wanted())
		return range;
	struct tfp_thread *thread = enter(&lane);
	if (thread)
		thread = named(thread, &lane, source, name, detail, &id);
	if (!thread)
		return range;
	if (tfp_is_open) {
		uint64_t now = tfp_now();
		if (detail)
			put_detail(thread, lane, now, detail);
		TFP_PUT(thread, lane, now, range_start, .id = range, .name = id, .domain = domain, .source = (uint8_t)source);
		count_call(thread, lane);
	}
	tfp_thread_leave(thread);
	return range;
}

void tfp_range_end(uint64_t id)
{
	struct tfp_lane *lane;

	if (!tfp_is_open)
		return;
	uint64_t now = tfp_now();
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, now, range_end, .id = id);
	tfp_thread_leave(thread);
}

void tfp_step_begin(enum tfp_range_source source, uint64_t number, uint64_t name)
{
	struct tfp_lane *lane;
	uint32_t best = best_trust, trust = trust_of[source];

	while (trust > best && !__atomic_compare_exchange_n((uint32_t *)&best_trust, &best, trust, 0, __ATOMIC_RELAXED,
							    __ATOMIC_RELAXED))
		;
	if (trust > trust_of[TFP_FROM_repeats])
		tfp_repeats_is_wanted = 0;
	if (number == TFP_STEP_COUNTED)
		number = ++steps_of[source];
	else
		steps_of[source] = number;
	if (!tfp_thread_have()) /* first: a fork child's windows begin with its log */
		return;
	tfp_window_came();
	if (trust >= best)
		tfp_window_step(number); /* an edge stands before the step that made it */
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	uint64_t now = tfp_now();
	TFP_PUT(thread, lane, now, step, .number = number, .name = name, .source = (uint8_t)source);
	if (now >= thread->system_next) /* the next call looks: where little that is hooked is called, and where steps meet */
		thread->calls_left = 0;
	tfp_thread_leave(thread);
}

void tfp_step_mark(uint64_t number)
{
	struct tfp_lane *lane;

	tfp_step_begin(TFP_FROM_api, number, 0);
	struct tfp_thread *thread = enter(&lane);
	if (!thread)
		return;
	count_call(thread, lane);
	tfp_thread_leave(thread);
}

void tfp_step_end(enum tfp_range_source source, int is_empty)
{
	struct tfp_lane *lane;
	uint64_t now = tfp_now(), number = steps_of[source];
	struct tfp_thread *thread = enter(&lane);

	if (is_empty && number)
		steps_of[source] = number - 1;
	if (!thread)
		return;
	TFP_PUT(thread, lane, now, step_end, .number = number, .is_empty = is_empty != 0);
	tfp_thread_leave(thread);
}

void tfp_range_domain(uint32_t id, const char *text, size_t length, enum tfp_range_source source)
{
	struct tfp_fact_field fields[3] = {{.number = id}, {.is_text = 1, .text = {text, length}}, {.number = source}};

	tfp_store_fact(TFP_TAG_range_domain, fields, 3);
}

void tfp_range_category(uint32_t domain, uint32_t category, const char *text)
{
	struct tfp_fact_field fields[3] = {{.number = domain}, {.number = category},
					   {.is_text = 1, .text = {text, tfp_length(text)}}};

	tfp_store_fact(TFP_TAG_range_category, fields, 3);
}

void tfp_range_object(unsigned kind, uint64_t object, const char *text)
{
	struct tfp_fact_field fields[3] = {{.number = kind}, {.number = object}, {.is_text = 1, .text = {text, tfp_length(text)}}};

	tfp_store_fact(TFP_TAG_named_object, fields, 3);
}
