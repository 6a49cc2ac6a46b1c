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

/* How many of them are texts. */
enum {
	KINETO_TEXTS = 0
#define KINETO_TEXT(symbol, name) + 1
#define KINETO_NUMBER(symbol, name, digits)
#include "reducer/import/kineto_keys.def"
#undef KINETO_TEXT
#undef KINETO_NUMBER
};

_Static_assert(KINETO_KEYS <= 64, "the keys of an event are bits of a word");

#define KINETO_CATEGORIES 8   /* unknown ones that are told by name */
#define KINETO_KEY_SLOTS 256u /* a power of two, several times the keys */

struct kineto_event {
	uint64_t has; /* a bit a key; of the others nothing is set */
	uint64_t grid[3], block[3];
	union {
		size_t text; /* its place in kineto.texts */
		int64_t number;
	} values[KINETO_KEYS];
	int64_t begin_rest, duration_rest; /* of `ts` and `dur`, millionths of ns */
	uint64_t begin_ns, duration_ns;
};

/* A thread of the host, or a queue of a device: one stream of the log. */
struct kineto_track {
	uint64_t key;
	uint32_t thread, queue; /* thread 0: so far only its name was told */
	char name[sizeof(((struct tfp_thread_slot *)NULL)->name)]; /* told by metadata; "" = none was */
	uint32_t place; /* in kineto.places, of a thread */
	uint64_t step_end_ns; /* of the last one that a `step_num` told */
};

/* What the file calls a process: one of the host's, or a device. */
struct kineto_place {
	uint64_t key;	 /* of its pid */
	uint64_t ranges; /* events there that are ranges here */
	char label[40];	 /* "" = none said */
	bool is_process; /* has threads and the number of a process */
};

/* Blocks of one size of one allocator, in a file that says no addresses. */
struct kineto_size {
	uint64_t key;  /* of allocator and size */
	uint64_t live; /* handed out and not yet back */
};

struct kineto {
	struct source *source;
	struct sink *sink;
	struct import_about *about;
	struct json json;
	char *texts; /* of the event at hand: each with a zero byte behind */
	size_t texts_used;
	uint8_t key_of[KINETO_KEY_SLOTS]; /* key + 1 by its hash; 0 = none */
	struct calls calls;
	bool is_for_viewer; /* what TensorFlow and JAX write beside an XPlane */
	struct kineto_track *tracks;
	size_t track_count, track_room;
	struct base_index track_of;
	struct kineto_place *places;
	size_t place_count, place_room;
	struct base_index place_of;
	struct text inputs[3]; /* of the event at hand, by key from KINETO_DIMENSIONS on: a piece an input, KINETO_PIECE behind each */
	uint64_t *shapes; /* hashes; the id of a shape is its place + 1 */
	size_t shape_count, shape_room;
	struct base_index shape_of;
	uint32_t queue_count;
	struct kineto_size *sizes;
	size_t size_count, size_room;
	struct base_index size_of;
	struct kineto_category { /* that we do not know: its events are ranges */
		char name[40];
		uint64_t events;
	} categories[KINETO_CATEGORIES];
	size_t category_count;
	uint64_t phases[128]; /* events of each that are not read */
	uint64_t addressless; /* blocks of which the file says no address */
	uint64_t durationless; /* whole events of which it says no duration */
	uint64_t event_count, out_of_time, op_count;
	uint64_t broken, broken_at; /* events that are no JSON, and where in the file the first breaks, */
	const char *broken_reason;  /* and how */
	int64_t base_ns;
	struct sink_group group;
};

static inline int kineto_has(const struct kineto_event *event, enum kineto_key key)
{
	return (int)(event->has >> key & 1);
}

/* "" where the event has none. */
static inline const char *kineto_text(const struct kineto *kineto, const struct kineto_event *event, enum kineto_key key)
{
	return kineto_has(event, key) ? kineto->texts + event->values[key].text : "";
}

/* 0 where the event has none. */
static inline int64_t kineto_number(const struct kineto_event *event, enum kineto_key key)
{
	return kineto_has(event, key) ? event->values[key].number : 0;
}

static inline uint64_t kineto_unsigned(const struct kineto_event *event, enum kineto_key key)
{
	return (uint64_t)kineto_number(event, key);
}

static inline struct sink_time kineto_begin(const struct kineto_event *event)
{
	return (struct sink_time){event->begin_ns, event->begin_ns, event->begin_ns + event->duration_ns, .is_end = 0};
}

#define KINETO_PIECE '\x1f'
/* kineto_inputs.c: a list of what an op was given is read. The id of its name as our logs have it; 0 = the event has no shapes. */
void kineto_take_inputs(struct kineto *kineto, unsigned key);
uint32_t kineto_inputs(struct kineto *kineto, const struct kineto_event *event);

/* kineto_memory.c: an instant event, where it tells of memory. Returns 0 where it does not. */
int kineto_memory(struct kineto *kineto, const struct kineto_event *event);

/* kineto_devices.c: the place of an event's pid; what a process's labels say of it; devices whose work is none that we know. */
uint32_t kineto_place(struct kineto *kineto, const struct kineto_event *event);
void kineto_label(struct kineto *kineto, const struct kineto_event *event);
void kineto_devices(struct kineto *kineto);
/* Once all is read: that processes of the file are one here. */
void kineto_processes(struct kineto *kineto);

/* kineto_put.c: the stream of the log of the event's thread; what was gathered in `group` goes there. What metadata call a thread. */
uint32_t kineto_thread(struct kineto *kineto, const struct kineto_event *event);
void kineto_name_thread(struct kineto *kineto, const struct kineto_event *event);
void kineto_put_group(struct kineto *kineto, uint32_t thread, struct sink_time when);

/* kineto_put.c, once all is read: what is inferred, and what was not understood. */
void kineto_notes(struct kineto *kineto);

/* kineto_put.c: an event of that phase (X whole, i instant, B and E); a device's properties. */
void kineto_put(struct kineto *kineto, const struct kineto_event *event, char phase);
void kineto_device(struct kineto *kineto, const struct kineto_event *event);

#endif
