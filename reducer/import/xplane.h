/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read XPlane share. Private to reducer/import. */
#ifndef REDUCER_IMPORT_XPLANE_H
#define REDUCER_IMPORT_XPLANE_H

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/import/calls.h"
#include "reducer/import/formats.h"

#define XPLANE_LATEST_NS (UINT64_C(1) << 62)

/* Field numbers of tensorflow.profiler's XSpace and what it holds. */
enum { SPACE_PLANE = 1, SPACE_ERROR = 2, SPACE_WARNING = 3, SPACE_HOST = 4 };
enum { PLANE_ID = 1, PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAME = 4, PLANE_STAT_NAME = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIME = 3, LINE_EVENT = 4, LINE_DISPLAY_NAME = 11 };
enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4, EVENT_TIMES = 5 };
enum { STAT_NAME = 1, STAT_DOUBLE = 2, STAT_UNSIGNED = 3, STAT_SIGNED = 4, STAT_TEXT = 5, STAT_BYTES = 6, STAT_REFERENCE = 7 };
enum { NAMED_ID = 1, NAMED_NAME = 2, NAMED_STAT = 5, ENTRY_VALUE = 2 };

enum xplane_stat {
	XPLANE_OTHER,
#define XPLANE_STAT(symbol, name) XPLANE_##symbol,
#include "reducer/import/xplane_stats.def"
#undef XPLANE_STAT
	XPLANE_STATS
};

/* The name of an event, or of a stat. */
struct xplane_name {
	uint64_t id;
	size_t text, length;   /* in xplane.texts */
	struct stretch stats;  /* of events: where the message lies, as far as it holds stats; at 0 = none */
	uint32_t number;       /* sink_name of it + 1; 0 = not asked yet */
	enum xplane_stat stat; /* of stats */
	uint8_t kind;	       /* of events: what its name says, see xplane_host.c; 0 = not asked yet */
	uint32_t function;     /* of events: its number among the calls; 0 = not asked yet */
	uint32_t shape;	       /* of events: the shape it had last, with the details of that reference; 0 = none */
	uint64_t shape_details;
};

#define XPLANE_RECENT 1024u
struct xplane_names {
	struct xplane_name *items;
	size_t count, room;
	struct base_index index;
	uint32_t recent[XPLANE_RECENT]; /* by id: the place where one was found lately */
};

struct xplane_value {
	const struct xplane_name *name;
	unsigned kind;	/* STAT_DOUBLE ... STAT_REFERENCE */
	enum xplane_stat stat; /* of the name */
	uint64_t value; /* numbers, references; a double by its bits */
	struct stretch bytes;
};
#define XPLANE_VALUES 48 /* of one event; further ones are left out */

struct xplane_event {
	struct xplane_name *name; /* NULL = the file does not say it */
	uint64_t begin_ns, duration_ns;
	struct xplane_value values[XPLANE_VALUES];
	size_t value_count;
	const struct xplane_value *known[XPLANE_STATS]; /* NULL = the event has none */
};

struct xplane_line {
	uint64_t id;
	int64_t time_ns;
	char name[64];
	uint32_t thread;      /* its stream in the log */
	uint32_t queue;	      /* of a device: id of its queue fact */
	uint64_t step_end_ns; /* of the step that began last on it */
};

struct xplane {
	struct source *source;
	struct sink *sink;
	struct import_about *about;
	int is_grouped;		 /* its devices say of each event which step it belongs to, and have Steps lines */
	uint32_t grouped_device; /* + 1: the one whose Steps line was taken */
	uint64_t base_ns;	 /* CLOCK_REALTIME where times of the file are 0 */
	/* The plane at hand. */
	char plane[128];
	struct stretch plane_bytes;
	struct xplane_names events, stats;
	struct text texts, scratch, arguments;
	const struct xplane_value *of_plane[XPLANE_STATS];
	struct xplane_value plane_values[XPLANE_VALUES];
	size_t plane_value_count;
	uint32_t device;
	/* Of the whole file. */
	struct threads {
		struct xplane_thread {
			uint64_t id;
			uint32_t serial;
		} * items;
		size_t count, room;
		struct base_index index;
	} threads;
	struct text shapes; /* name and details of each, as keys */
	size_t *shape_at, *shape_length;
	size_t shape_count, shape_room, shape_length_room;
	struct base_index shape_of;
	struct text hlo; /* instruction -> op: keys and texts */
	struct xplane_hlo {
		uint64_t hash;
		size_t op;
	} * hlo_ops;
	size_t hlo_count, hlo_room;
	struct base_index hlo_of;
	struct calls calls;
	uint32_t queue_count;
	uint64_t step_count, event_count, aggregated, out_of_time;
	uint64_t strange_devices; /* planes of devices that are no GPUs */
	char strange_device[32];  /* the first of them */
	struct sink_group group;
};

/* xplane.c: a name by its id, or NULL (found at once where the one of that id was found before); its text; its sink_name. */
struct xplane_name *xplane_find_name(struct xplane_names *names, uint64_t id);
const char *xplane_text(const struct xplane *xplane, const struct xplane_name *name);
uint32_t xplane_name_number(struct xplane *xplane, struct xplane_name *name);

/* xplane_event.c: text of a value (valid until the next call; cut at SOURCE_LONGEST); numbers. */
const char *xplane_value_text(struct xplane *xplane, const struct xplane_value *value, size_t *length);
uint64_t xplane_number(const struct xplane_value *value); /* 0 for NULL and for texts; a double is cut */
uint32_t xplane_value_name(struct xplane *xplane, const struct xplane_value *value); /* sink_name of its text; 0 for NULL */
/* The stats of a message, which are its fields of that number; of one name the first counts. */
void xplane_take_values(struct xplane *xplane, struct stretch message, unsigned number, struct xplane_value *values, size_t *count,
			const struct xplane_value **known);
/* An event of a line. Returns -1 where it has no place in time: it is counted. */
int xplane_take_event(struct xplane *xplane, const struct xplane_line *line, struct stretch message, struct xplane_event *event);

/* One event each; the line's thread is set. */
void xplane_host_event(struct xplane *xplane, struct xplane_line *line, struct xplane_event *event);
void xplane_device_event(struct xplane *xplane, const struct xplane_line *line, struct xplane_event *event);
/* An event of a device's Steps line: the file was grouped before. */
void xplane_grouped_step(struct xplane *xplane, const struct xplane_line *line, struct xplane_event *event);
/* Device facts and the queue of a line, before its events. */
void xplane_device_begin(struct xplane *xplane);
void xplane_device_line(struct xplane *xplane, struct xplane_line *line);

/* xplane_hlo.c: takes an HloProto; the op of an instruction, or NULL. */
void xplane_hlo_take(struct xplane *xplane, uint64_t program, const struct stretch *proto);
const char *xplane_hlo_op(const struct xplane *xplane, uint64_t program, const char *name, size_t length);

#endif
