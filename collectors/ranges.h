/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named ranges, marks and steps, from whoever names them: the one way they get into a log.
 *
 * Rule: what is said is written as it was said; nesting, pairing and what is missing are the reader's work. Outside of a
 * window only steps are recorded, and names are looked at only where STEP_RANGE asks for it. Every function may be called
 * on any thread, in any context.
 */
#ifndef TFP_COLLECTORS_RANGES_H
#define TFP_COLLECTORS_RANGES_H

#include "collectors/names.h"
#include "collectors/window.h"

/* Rows of range_sources.def: TFP_FROM_api, TFP_FROM_nvtx, ... */
enum tfp_range_source {
#define TFP_RANGE_SOURCE(number, name, trust, help) TFP_FROM_##name = number,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
	TFP_RANGE_SOURCES
};

/* What a range or a mark is called: a text that ends with a 0 byte, or an id that tfp_name_id gave for this log. */
struct tfp_range_name {
	const char *text; /* NULL: the id counts */
	uint64_t id;
	uint32_t is_step; /* with an id: STEP_RANGE matches it */
};

/* Whether a range that is opened now matters: outside of a window only one that may be a step. */
static inline int tfp_range_is_wanted(void)
{
	return tfp_is_open || tfp_step_pattern.count || tfp_window_came();
}

/* What else may be said of it. */
struct tfp_range_detail {
	uint64_t payload;
	uint32_t category, colour;
	uint8_t payload_type; /* records_ranges.def, range_detail; 255: words, bytes and schema */
	uint64_t schema, bytes;
	uint64_t words[4];
};

/* detail: NULL = nothing else. */
void tfp_range_push(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
		    const struct tfp_range_detail *detail);
void tfp_range_push_text(enum tfp_range_source source, uint32_t domain, const char *text); /* not NULL */
void tfp_range_pop(enum tfp_range_source source, uint32_t domain);
void tfp_range_mark(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
		    const struct tfp_range_detail *detail);

/* A range of the whole process: its id, distinct and never 0. Ends on any thread. */
uint64_t tfp_range_start(enum tfp_range_source source, uint32_t domain, const struct tfp_range_name *name,
			 const struct tfp_range_detail *detail);
void tfp_range_end(uint64_t id);

/*
 * A step begins. number: the host's own, or TFP_STEP_COUNTED to count those of this source from 1. name: an id, 0 = none.
 * Opens and closes step windows, unless a source of higher trust has marked a step before.
 */
#define TFP_STEP_COUNTED UINT64_MAX
void tfp_step_begin(enum tfp_range_source source, uint64_t number, uint64_t name);
/* The program itself marks one. */
void tfp_step_mark(uint64_t number);

/*
 * The step that began last is over; where nobody says so it lasts until the next one. is_empty: it was none, there were no data
 * left; the next one has its number.
 */
void tfp_step_end(enum tfp_range_source source, int is_empty);

/* Facts: a domain, the name of a category, the name of an object (records_ranges.def). */
void tfp_range_domain(uint32_t id, const char *text, size_t length, enum tfp_range_source source);
void tfp_range_category(uint32_t domain, uint32_t category, const char *text);
void tfp_range_object(unsigned kind, uint64_t object, const char *text);

#endif
