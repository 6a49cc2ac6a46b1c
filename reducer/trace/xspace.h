/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One XSpace file: events in any order, sorted by plane, line and time, then written as the one message that the format wants.
 *
 * Rule: memory follows planes, lines and distinct texts; events wait in a sorter. A message's length stands in front of it, so
 * the lengths of lines are summed while events are put.
 */
#ifndef REDUCER_TRACE_XSPACE_H
#define REDUCER_TRACE_XSPACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define XSPACE_STATS 16 /* of one event */

struct xspace_file;

struct xspace_file *xspace_make(void);
void xspace_free(struct xspace_file *file);

/* A plane of that name, new or known; a line of it, likewise by its id. Numbers to put events with. */
uint32_t xspace_plane(struct xspace_file *file, const char *name, int64_t id);
uint32_t xspace_line(struct xspace_file *file, uint32_t plane, int64_t id, const char *name);
/* The line of that id, UINT32_MAX where there is none yet. */
uint32_t xspace_known_line(const struct xspace_file *file, uint32_t plane, int64_t id);

enum xspace_kind { XSPACE_REAL, XSPACE_NATURAL, XSPACE_INTEGER, XSPACE_SHARED };
struct xspace_stat {
	uint32_t name; /* number in its plane */
	enum xspace_kind kind;
	union {
		double real;
		uint64_t natural; /* of a shared text its number */
		int64_t integer;
	};
};

/* An event being put together: its stats in order. What finds no room is left out. */
struct xspace_event {
	uint32_t plane, line;
	int64_t start_ns;
	uint64_t duration_ns;
	const char *name, *shown; /* shown: another name for people; NULL = the same */
	struct xspace_stat stats[XSPACE_STATS];
	size_t count;
};
/* A number with a name on an event that is not yet put; `name` is copied, beyond XSPACE_STATS nothing is. */
void xspace_integer(struct xspace_file *file, struct xspace_event *event, const char *name, int64_t value);
void xspace_natural(struct xspace_file *file, struct xspace_event *event, const char *name, uint64_t value);
void xspace_real(struct xspace_file *file, struct xspace_event *event, const char *name, double value);
/* Texts are shared by number; NULL and "" put nothing. */
void xspace_text(struct xspace_file *file, struct xspace_event *event, const char *name, const char *value);
void xspace_put(struct xspace_file *file, const struct xspace_event *event);

/*
 * An event but for its times and, with `has_first`, the number of its first stat, an XSPACE_NATURAL: what comes again and again is
 * packed once. Valid as long as the file.
 */
#define XSPACE_KEPT 240
struct xspace_kept {
	uint32_t plane, line, name, first;
	uint8_t has_first;
	uint8_t length; /* of the stats behind the first */
	uint8_t stats[XSPACE_KEPT];
};
/* Puts an event whose first stat is open if it is `has_first`. Returns whether `kept` holds it: there may be too much of it. */
int xspace_put_keeping(struct xspace_file *file, const struct xspace_event *event, int has_first, struct xspace_kept *kept);
void xspace_put_kept(struct xspace_file *file, const struct xspace_kept *kept, int64_t start_ns, uint64_t duration_ns, uint64_t first);

/* Stats of a plane: the event's stats, whatever else it says. */
void xspace_describe(struct xspace_file *file, uint32_t plane, const struct xspace_event *stats);
void xspace_warn(struct xspace_file *file, const char *text);

/* Whether anything was put. */
int xspace_any(const struct xspace_file *file);
/* Bytes of all events: what the file will have at least, and nearly. */
uint64_t xspace_bytes(const struct xspace_file *file);
/* Writes all. Once. */
void xspace_write(struct xspace_file *file, FILE *out, const char *host);

#endif
