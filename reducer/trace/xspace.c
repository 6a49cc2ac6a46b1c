/* SPDX-License-Identifier: Apache-2.0 */
/* One XSpace file. See xspace.h. */
#include "reducer/trace/xspace.h"

#include "reducer/analysis/words.h"
#include "reducer/base/base.h"
#include "reducer/base/sorter.h"
#include "reducer/model/number_map.h"
#include "reducer/report/escape.h"
#include "reducer/trace/wire.h"

#include "reducer/trace/xplane.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define SORT_BYTES (16u << 20)
#define LATEST_NS (INT64_MAX / 1000) /* times are picoseconds there */
enum { SPACE_PLANE = 1, PLANE_LINE = 3, LINE_EVENT = 4 };

struct line {
	int64_t id;
	char *name;
	uint64_t bytes; /* of its events, with their heads */
};

struct plane {
	char *name;
	int64_t id;
	struct words names, stats;
	char **shown; /* by number of names; NULL = the same */
	size_t shown_count, shown_room;
	struct line *lines;
	size_t line_count, line_room;
	struct xspace_stat *about;
	size_t about_count;
};

struct xspace_file {
	struct sorter *sorter;
	struct plane *planes;
	size_t plane_count, plane_room;
	struct number_map lines; /* (plane, id) -> place among the plane's lines */
	char **warnings;
	size_t warning_count, warning_room;
	struct text visible; /* a text as it is shown; at last events to be written */
	uint8_t *buffer;
	size_t room;
	int any;
};

struct xspace_file *xspace_make(void)
{
	struct xspace_file *file = base_alloc(1, sizeof(*file));

	file->sorter = sorter_make(SORT_BYTES, 2);
	return file;
}

void xspace_free(struct xspace_file *file)
{
	for (size_t p = 0; p < file->plane_count; p++) {
		struct plane *plane = &file->planes[p];
		for (size_t i = 0; i < plane->line_count; i++)
			free(plane->lines[i].name);
		for (size_t i = 0; i < plane->shown_count; i++)
			free(plane->shown[i]);
		free(plane->shown);
		free(plane->lines);
		free(plane->about);
		free(plane->name);
		words_free(&plane->names);
		words_free(&plane->stats);
	}
	number_map_free(&file->lines);
	for (size_t i = 0; i < file->warning_count; i++)
		free(file->warnings[i]);
	free(file->warnings);
	free(file->planes);
	free(file->buffer);
	text_free(&file->visible);
	sorter_free(file->sorter);
	free(file);
}

/* Text that is valid UTF-8; readers refuse a whole file for one that is not. Valid until the next call. */
static char *shown(struct xspace_file *file, const char *text)
{
	text_clear(&file->visible);
	escape_visible(&file->visible, text, strlen(text));
	text_string(&file->visible, "");
	return file->visible.length ? file->visible.bytes : (char *)"";
}

/* The number of a text as it is shown; most are plain, and found by their address (words.h). */
static uint32_t number_of(struct xspace_file *file, struct words *words, const char *text)
{
	const char *at = text;

	while (*at >= 0x20 && *at < 0x7f)
		at++;
	return words_number(words, *at ? shown(file, text) : text);
}

uint32_t xspace_plane(struct xspace_file *file, const char *name, int64_t id)
{
	for (size_t i = 0; i < file->plane_count; i++)
		if (strcmp(file->planes[i].name, name) == 0)
			return (uint32_t)i;
	file->planes = base_grow(file->planes, &file->plane_room, file->plane_count + 1, sizeof(*file->planes));
	file->planes[file->plane_count] = (struct plane){.name = base_copy(name, strlen(name)), .id = id};
	words_number(&file->planes[file->plane_count].names, "");
	words_number(&file->planes[file->plane_count].stats, ""); /* number 0 means none in this format */
	return (uint32_t)file->plane_count++;
}

uint32_t xspace_known_line(const struct xspace_file *file, uint32_t plane, int64_t id)
{
	return number_map_find(&file->lines, plane, (uint64_t)id);
}

uint32_t xspace_line(struct xspace_file *file, uint32_t plane, int64_t id, const char *name)
{
	struct plane *of = &file->planes[plane];
	uint32_t known = xspace_known_line(file, plane, id);

	if (known != UINT32_MAX)
		return known;
	if (number_map_set(&file->lines, plane, (uint64_t)id, (uint32_t)of->line_count) != 0)
		base_die("-f xplane: more than %u threads and streams: choose a time (--window FROM-TO)", NUMBER_MAP_MAX);
	of->lines = base_grow(of->lines, &of->line_room, of->line_count + 1, sizeof(*of->lines));
	name = shown(file, name);
	of->lines[of->line_count] = (struct line){.id = id, .name = base_copy(name, strlen(name))};
	return (uint32_t)of->line_count++;
}

/* Stats. */

/* A new stat of that kind; NULL where there is no room. */
static struct xspace_stat *add_stat(struct xspace_file *file, struct xspace_event *event, const char *name, enum xspace_kind kind)
{
	struct xspace_stat *stat = &event->stats[event->count];

	if (event->count == XSPACE_STATS)
		return NULL;
	event->count++;
	*stat = (struct xspace_stat){.name = number_of(file, &file->planes[event->plane].stats, name), .kind = kind};
	return stat;
}

void xspace_integer(struct xspace_file *file, struct xspace_event *event, const char *name, int64_t value)
{
	struct xspace_stat *stat = add_stat(file, event, name, XSPACE_INTEGER);

	if (stat)
		stat->integer = value;
}

void xspace_natural(struct xspace_file *file, struct xspace_event *event, const char *name, uint64_t value)
{
	struct xspace_stat *stat = add_stat(file, event, name, XSPACE_NATURAL);

	if (stat)
		stat->natural = value;
}

void xspace_real(struct xspace_file *file, struct xspace_event *event, const char *name, double value)
{
	struct xspace_stat *stat = add_stat(file, event, name, XSPACE_REAL);

	if (stat)
		stat->real = value;
}

void xspace_text(struct xspace_file *file, struct xspace_event *event, const char *name, const char *value)
{
	struct xspace_stat *stat = value && *value ? add_stat(file, event, name, XSPACE_SHARED) : NULL;

	if (stat)
		stat->natural = number_of(file, &file->planes[event->plane].stats, value);
}

/* The message of a stat. */
static void pack_stat(const struct xspace_stat *from, Xplane__Stat *to)
{
	xplane__stat__init(to);
	to->has_name = 1;
	to->name = from->name;
	to->has_real = from->kind == XSPACE_REAL;
	to->has_natural = from->kind == XSPACE_NATURAL;
	to->has_integer = from->kind == XSPACE_INTEGER;
	to->has_shared = from->kind == XSPACE_SHARED;
	if (to->has_real)
		to->real = from->real;
	else
		to->natural = to->shared = from->natural;
	if (to->has_integer)
		to->integer = from->integer;
}

/* Events. */

/* Key and length of a field that holds a message. Returns the bytes used, at most 20. */
static size_t put_head(uint8_t *to, unsigned field, uint64_t length)
{
	return (size_t)(wire_head(to, field, length) - to);
}

/* A stat of an event as pack_stat has it; numbers are those of xplane.proto. */
static uint8_t *put_stat(uint8_t *to, const struct xspace_stat *stat)
{
	uint8_t *at = to;

	to = wire_number(wire_open(to), 1, (uint64_t)stat->name);
	if (stat->kind == XSPACE_REAL)
		to = wire_fixed64(to, 2, &stat->real);
	else
		to = wire_number(to, stat->kind == XSPACE_NATURAL ? 3 : stat->kind == XSPACE_INTEGER ? 4 : 7,
				 stat->kind == XSPACE_INTEGER ? (uint64_t)stat->integer : stat->natural);
	return wire_close(at, 4, to);
}

/* The name that people see instead of the one that tools read. */
static void keep_shown(struct xspace_file *file, struct plane *plane, size_t name, const char *text)
{
	plane->shown = base_grow(plane->shown, &plane->shown_room, name + 1, sizeof(*plane->shown));
	while (plane->shown_count <= name)
		plane->shown[plane->shown_count++] = NULL;
	if (plane->shown[name])
		return;
	text = shown(file, text);
	plane->shown[name] = base_copy(text, strlen(text));
}

/* The number of an event's name. */
static uint32_t name_of(struct xspace_file *file, const struct xspace_event *event)
{
	struct plane *plane = &file->planes[event->plane];
	uint32_t name = number_of(file, &plane->names, event->name ? event->name : "[name not recorded]");

	if (event->shown)
		keep_shown(file, plane, name, event->shown);
	return name;
}

/* Room for an event with stats of so many bytes. Where its fields begin. */
static uint8_t *begin_event(struct xspace_file *file, size_t stats)
{
	file->buffer = base_grow(file->buffer, &file->room, 5 * WIRE_FIELD + stats, 1);
	return wire_open(file->buffer);
}

static int64_t clip_start(int64_t start_ns)
{
	int64_t since = start_ns > 0 ? start_ns : 0;

	return since < LATEST_NS ? since : LATEST_NS;
}

static uint8_t *put_times(uint8_t *to, uint32_t name, int64_t start_ns, uint64_t duration_ns)
{
	int64_t duration_ps = duration_ns < LATEST_NS ? (int64_t)duration_ns * 1000 : INT64_MAX;

	to = wire_number(to, 1, name);
	to = wire_number(to, 2, (uint64_t)(clip_start(start_ns) * 1000));
	return wire_number(to, 3, (uint64_t)duration_ps);
}

/* All between begin_event's place and `end` is a line's event. */
static void end_event(struct xspace_file *file, uint32_t plane, uint32_t line, int64_t start_ns, uint64_t duration_ns, uint8_t *end)
{
	uint64_t key[SORTER_WORDS] = {plane, line, (uint64_t)clip_start(start_ns), ~duration_ns};
	size_t length = (size_t)(wire_close(file->buffer, LINE_EVENT, end) - file->buffer);

	sorter_put(file->sorter, key, file->buffer, length);
	file->planes[plane].lines[line].bytes += length;
	file->any = 1;
}

void xspace_put(struct xspace_file *file, const struct xspace_event *event)
{
	uint32_t name = name_of(file, event);
	uint8_t *to = put_times(begin_event(file, 3 * WIRE_FIELD * event->count), name, event->start_ns, event->duration_ns);

	for (size_t i = 0; i < event->count; i++)
		to = put_stat(to, &event->stats[i]);
	end_event(file, event->plane, event->line, event->start_ns, event->duration_ns, to);
}

int xspace_put_keeping(struct xspace_file *file, const struct xspace_event *event, int has_first, struct xspace_kept *kept)
{
	uint8_t stats[3 * WIRE_FIELD * XSPACE_STATS], *to = stats;

	xspace_put(file, event);
	for (size_t i = has_first ? 1 : 0; i < event->count; i++)
		to = put_stat(to, &event->stats[i]);
	if (to - stats > XSPACE_KEPT)
		return 0;
	*kept = (struct xspace_kept){.plane = event->plane, .line = event->line, .name = name_of(file, event),
				     .first = has_first ? event->stats[0].name : 0, .has_first = has_first != 0,
				     .length = (uint8_t)(to - stats)};
	memcpy(kept->stats, stats, kept->length);
	return 1;
}

void xspace_put_kept(struct xspace_file *file, const struct xspace_kept *kept, int64_t start_ns, uint64_t duration_ns, uint64_t first)
{
	uint8_t *to = put_times(begin_event(file, 3 * WIRE_FIELD + XSPACE_KEPT), kept->name, start_ns, duration_ns);

	if (kept->has_first)
		to = put_stat(to, &(struct xspace_stat){.name = kept->first, .kind = XSPACE_NATURAL, .natural = first});
	memcpy(to, kept->stats, kept->length);
	end_event(file, kept->plane, kept->line, start_ns, duration_ns, to + kept->length);
}

void xspace_describe(struct xspace_file *file, uint32_t plane, const struct xspace_event *stats)
{
	struct plane *of = &file->planes[plane];

	if (of->about)
		return;
	of->about = base_alloc(stats->count + 1, sizeof(*of->about));
	memcpy(of->about, stats->stats, stats->count * sizeof(*of->about));
	of->about_count = stats->count;
}

void xspace_warn(struct xspace_file *file, const char *text)
{
	file->warnings = base_grow(file->warnings, &file->warning_room, file->warning_count + 1, sizeof(*file->warnings));
	text = shown(file, text);
	file->warnings[file->warning_count++] = base_copy(text, strlen(text));
}

int xspace_any(const struct xspace_file *file)
{
	return file->any;
}

uint64_t xspace_bytes(const struct xspace_file *file)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < file->plane_count; i++)
		for (size_t k = 0; k < file->planes[i].line_count; k++)
			bytes += file->planes[i].lines[k].bytes;
	return bytes;
}

/* The file. */

static size_t line_head(struct xspace_file *file, const struct line *line)
{
	Xplane__Line message = XPLANE__LINE__INIT;

	message.has_id = 1;
	message.id = line->id;
	message.name = line->name;
	file->buffer = base_grow(file->buffer, &file->room, xplane__line__get_packed_size(&message), 1);
	return xplane__line__pack(&message, file->buffer);
}

/* All of a plane but its lines. Freed by the caller. */
static uint8_t *pack_plane(const struct plane *plane, size_t *length)
{
	size_t names = plane->names.count - 1, stats = plane->stats.count - 1;
	Xplane__EventEntry *events = base_alloc(names + 1, sizeof(*events)),
			   **event_list = base_alloc(names + 1, sizeof(*event_list));
	Xplane__EventName *event_names = base_alloc(names + 1, sizeof(*event_names));
	Xplane__StatEntry *entries = base_alloc(stats + 1, sizeof(*entries)),
			  **entry_list = base_alloc(stats + 1, sizeof(*entry_list));
	Xplane__StatName *stat_names = base_alloc(stats + 1, sizeof(*stat_names));
	Xplane__Stat **about = base_alloc(plane->about_count + 1, sizeof(*about)), packed_about[XSPACE_STATS];
	Xplane__Plane message = XPLANE__PLANE__INIT;

	for (size_t i = 0; i < names; i++) {
		xplane__event_entry__init(&events[i]);
		xplane__event_name__init(&event_names[i]);
		events[i].has_key = event_names[i].has_id = 1;
		events[i].key = event_names[i].id = (int64_t)i + 1;
		event_names[i].name = (char *)(uintptr_t)plane->names.items[i + 1];
		event_names[i].shown = i + 1 < plane->shown_count ? plane->shown[i + 1] : NULL;
		events[i].value = &event_names[i];
		event_list[i] = &events[i];
	}
	for (size_t i = 0; i < stats; i++) {
		xplane__stat_entry__init(&entries[i]);
		xplane__stat_name__init(&stat_names[i]);
		entries[i].has_key = stat_names[i].has_id = 1;
		entries[i].key = stat_names[i].id = (int64_t)i + 1;
		stat_names[i].name = (char *)(uintptr_t)plane->stats.items[i + 1];
		entries[i].value = &stat_names[i];
		entry_list[i] = &entries[i];
	}
	for (size_t i = 0; i < plane->about_count; i++) {
		pack_stat(&plane->about[i], &packed_about[i]);
		about[i] = &packed_about[i];
	}
	message.has_id = 1;
	message.id = plane->id;
	message.name = plane->name;
	message.events = event_list;
	message.n_events = names;
	message.stat_names = entry_list;
	message.n_stat_names = stats;
	message.stats = about;
	message.n_stats = plane->about_count;
	*length = xplane__plane__get_packed_size(&message);
	uint8_t *packed = base_alloc(1, *length + 1);
	xplane__plane__pack(&message, packed);
	free(events), free(event_list), free(event_names), free(entries), free(entry_list), free(stat_names), free(about);
	return packed;
}

static void write_head(FILE *out, unsigned field, uint64_t length)
{
	uint8_t head[20] = {0};

	fwrite(head, 1, put_head(head, field, length), out);
}

static uint64_t head_bytes(uint64_t length)
{
	uint8_t head[20] = {0};

	return put_head(head, PLANE_LINE, length);
}

/* The entries of the sorter come plane by plane, line by line: this line's next one, or NULL. */
struct cursor {
	const uint64_t *key;
	const void *bytes;
	size_t length;
};

#define WRITTEN_AT_ONCE (64u << 10)
static void write_events(struct xspace_file *file, FILE *out)
{
	if (file->visible.length)
		fwrite(file->visible.bytes, 1, file->visible.length, out);
	text_clear(&file->visible);
}

static void write_plane(struct xspace_file *file, uint32_t number, FILE *out, struct cursor *cursor)
{
	const struct plane *plane = &file->planes[number];
	size_t length;
	uint8_t *packed = pack_plane(plane, &length);
	uint64_t whole = length;

	for (size_t i = 0; i < plane->line_count; i++) {
		uint64_t line = line_head(file, &plane->lines[i]) + plane->lines[i].bytes;
		whole += head_bytes(line) + line;
	}
	write_head(out, SPACE_PLANE, whole);
	fwrite(packed, 1, length, out);
	free(packed);
	for (uint32_t i = 0; i < plane->line_count; i++) {
		size_t head = line_head(file, &plane->lines[i]);
		write_head(out, PLANE_LINE, head + plane->lines[i].bytes);
		fwrite(file->buffer, 1, head, out);
		text_clear(&file->visible);
		while (cursor->bytes && cursor->key[0] == number && cursor->key[1] == i) {
			text_put(&file->visible, cursor->bytes, cursor->length);
			if (file->visible.length > WRITTEN_AT_ONCE)
				write_events(file, out);
			cursor->bytes = sorter_next(file->sorter, &cursor->key, &cursor->length);
		}
		write_events(file, out);
	}
}

void xspace_write(struct xspace_file *file, FILE *out, const char *host)
{
	Xplane__Space space = XPLANE__SPACE__INIT;
	struct cursor cursor = {0};
	char *name = base_copy(host, strlen(host));

	cursor.bytes = sorter_next(file->sorter, &cursor.key, &cursor.length);
	for (uint32_t i = 0; i < file->plane_count; i++)
		write_plane(file, i, out, &cursor);
	space.warnings = file->warnings;
	space.n_warnings = file->warning_count;
	space.hosts = &name;
	space.n_hosts = 1;
	file->buffer = base_grow(file->buffer, &file->room, xplane__space__get_packed_size(&space), 1);
	fwrite(file->buffer, 1, xplane__space__pack(&space, file->buffer), out);
	free(name);
}
