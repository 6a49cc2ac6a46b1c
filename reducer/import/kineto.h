/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read Kineto's JSON share. Private to reducer/import. */
#ifndef REDUCER_IMPORT_KINETO_H
#define REDUCER_IMPORT_KINETO_H

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/import/calls.h"
#include "reducer/import/formats.h"
#include "reducer/import/json.h"

enum kineto_key {
#define KINETO_TEXT(symbol, name) KINETO_##symbol,
#define KINETO_NUMBER(symbol, name, digits) KINETO_##symbol,
#include "reducer/import/kineto_keys.def"
#undef KINETO_TEXT
#undef KINETO_NUMBER
	KINETO_KEYS
};

struct kineto_event {
	size_t text_at[KINETO_KEYS]; /* in kineto.texts + 1; 0 = not there */
	int64_t numbers[KINETO_KEYS];
	uint8_t has[KINETO_KEYS];
	uint64_t grid[3], block[3];
	uint64_t begin_ns, duration_ns;
};

/* A thread of the host, or a queue of a device: one stream of the log. */
struct kineto_track {
	uint64_t key;
	uint32_t thread, queue;
};

struct kineto {
	struct source *source;
	struct sink *sink;
	struct import_about *about;
	struct json json;
	struct text texts, scratch; /* texts: of the event at hand */
	struct calls calls;
	struct kineto_track *tracks;
	size_t track_count, track_room;
	struct base_index track_of;
	uint64_t *shapes; /* hashes; the id of a shape is its place + 1 */
	size_t shape_count, shape_room;
	struct base_index shape_of;
	uint32_t queue_count;
	uint64_t event_count, out_of_time, op_count;
	int64_t base_ns;
	struct sink_group group;
};

/* kineto.c: "" where the event has none. */
const char *kineto_text(const struct kineto *kineto, const struct kineto_event *event, enum kineto_key key);

/* kineto_put.c: an event of that phase (X whole, i instant, B and E); a device's properties. */
void kineto_put(struct kineto *kineto, const struct kineto_event *event, char phase);
void kineto_device(struct kineto *kineto, const struct kineto_event *event);

#endif
