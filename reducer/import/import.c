/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognising files of other profilers and beginning their logs. See import.h.
 *
 * Files of one folder are one run: their logs share a job id made from the folder's path.
 */
#include "reducer/import/import.h"

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/import/formats.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One row a format. */
static const struct {
	enum import_kind kind;
	const char *name;
	int (*is)(struct source *source);
	int (*read)(struct source *source, struct sink *sink, struct import_about *about);
} formats[] = {
	{IMPORT_XPLANE, "xplane", import_is_xplane, import_xplane},
	{IMPORT_KINETO, "kineto", import_is_kineto, import_kineto},
};
#define FORMATS (sizeof formats / sizeof formats[0])

enum import_kind import_recognise(const char *path)
{
	struct diag_list unheard = {0};
	struct source source;
	enum import_kind kind = IMPORT_NONE;
	size_t got;

	if (source_open(&source, path, SOURCE_WINDOW, &unheard) != 0)
		return IMPORT_NONE;
	const uint8_t *head = source_at(&source, 0, 8, &got);
	if (got == 8 && memcmp(head, TFP_FILE_MAGIC, 8) != 0)
		for (size_t i = 0; i < FORMATS && kind == IMPORT_NONE; i++)
			kind = formats[i].is(&source) ? formats[i].kind : IMPORT_NONE;
	source_close(&source);
	diag_free(&unheard);
	return kind;
}

#define LEVELS 4      /* logdir/plugins/profile/run */
#define FILES_MOST 65536u

struct found {
	char **paths;
	size_t count, room, looked;
	struct diag_list *diags;
};

static int ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), less = strlen(ending);

	return length > less && strcmp(text + length - less, ending) == 0;
}

/* What is not read must not look as if it were not there. */
static void say_unread(struct found *found, const char *path, const char *what, int error)
{
	diag_add(found->diags, DIAG_FATAL, path, DIAG_NO_OFFSET, "", "%s: %s", what, strerror(error));
}

static int is_foreign_name(const char *path)
{
	return ends_with(path, ".xplane.pb") || ends_with(path, ".xplane.pb.gz") || ends_with(path, ".json") ||
	       ends_with(path, ".json.gz");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void look_into(struct found *found, const char *folder, int levels)
{
	DIR *directory = levels ? opendir(folder) : NULL;
	struct text path = {0};

	if (levels && !directory)
		say_unread(found, folder, "cannot be looked into", errno);
	for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
		struct stat status;
		if (entry->d_name[0] == '.' || found->looked++ > FILES_MOST)
			continue;
		text_clear(&path);
		text_format(&path, "%s/%s", folder, entry->d_name);
		if (lstat(path.bytes, &status) != 0)
			continue;
		if (S_ISDIR(status.st_mode))
			look_into(found, path.bytes, levels - 1);
		if (S_ISREG(status.st_mode) && is_foreign_name(path.bytes) && access(path.bytes, R_OK) != 0)
			say_unread(found, path.bytes, "cannot be opened", errno);
		if (!S_ISREG(status.st_mode) || import_recognise(path.bytes) == IMPORT_NONE)
			continue;
		found->paths = base_grow(found->paths, &found->room, found->count + 1, sizeof(*found->paths));
		found->paths[found->count++] = base_copy(path.bytes, path.length);
	}
	if (directory)
		closedir(directory);
	text_free(&path);
}

/*
 * Does a JSON file draw again, for viewers, what an XPlane beside it tells? So JAX and TensorFlow write them: HOST.trace.json.gz
 * with HOST.xplane.pb, and perfetto_trace.json.gz with any.
 */
static int is_drawn_from(const char *path, const char *plane)
{
	static const char name[] = "perfetto_trace.json.gz";
	const char *slash = strrchr(path, '/'), *json = slash ? slash + 1 : path;
	size_t folder = (size_t)(json - path), stem = 0;
	const char *ending = strstr(json, ".trace.json");

	if (!ends_with(plane, ".xplane.pb") || strncmp(plane, path, folder) != 0 || strchr(plane + folder, '/'))
		return 0;
	if (strcmp(json, name) == 0)
		return 1;
	stem = ending && (strcmp(ending, ".trace.json") == 0 || strcmp(ending, ".trace.json.gz") == 0) ? (size_t)(ending - path) : 0;
	return stem > folder && strncmp(plane, path, stem) == 0 && strcmp(plane + stem, ".xplane.pb") == 0;
}

/* Leaves out what would be counted twice, and says so. */
static void leave_out_drawn(struct found *found, struct diag_list *diags)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		size_t plane = 0;
		while (plane < found->count && (!found->paths[plane] || !is_drawn_from(found->paths[i], found->paths[plane])))
			plane++;
		if (plane == found->count)
			continue;
		diag_add(diags, DIAG_NOTE, found->paths[i], DIAG_NO_OFFSET, "name the file itself to read it instead",
			 "was not read: it shows the same run as the XPlane beside it");
		free(found->paths[i]);
		found->paths[i] = NULL;
	}
	for (size_t i = 0; i < found->count; i++)
		if (found->paths[i])
			found->paths[kept++] = found->paths[i];
	found->count = kept;
}

size_t import_find(const char *folder, char ***paths, struct diag_list *diags)
{
	struct found found = {.diags = diags};

	look_into(&found, folder, LEVELS);
	if (found.count)
		qsort(found.paths, found.count, sizeof(*found.paths), by_text);
	leave_out_drawn(&found, diags);
	*paths = found.paths;
	return found.count;
}

/* The folder of a path, made absolute: files of one folder are one run. */
static uint64_t folder_hash(const char *path, uint64_t seed)
{
	char *whole = realpath(path, NULL);
	const char *slash = strrchr(whole ? whole : path, '/');
	uint64_t hash = base_hash(seed, whole ? whole : path, slash ? (size_t)(slash - (whole ? whole : path)) : 0);

	free(whole);
	return hash;
}

static uint64_t file_hash(const char *path)
{
	char *whole = realpath(path, NULL);
	uint64_t hash = base_hash(BASE_HASH, whole ? whole : path, strlen(whole ? whole : path));

	free(whole);
	return base_mix(hash);
}

static void say_what_it_is(struct sink *sink, const char *path, const char *format, const struct import_about *about)
{
	/* What the recorder would have been told, so that tables say why they are empty. */
	static const char *const off[] = {"MALLOC", "IO", "SYS", "PYTHON"};

	sink_fact(sink, TFP_TAG_import);
	sink_text(sink, path, strlen(path));
	sink_text(sink, format, strlen(format));
	sink_fact_end(sink);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		sink_pair(sink, TFP_TAG_setting, off[i], "off");
	sink_pair(sink, TFP_TAG_note, "import",
		    "Made from a file of another profiler; docs/foreign.md says what such a file cannot hold.");
	if (about->host[0])
		sink_pair(sink, TFP_TAG_host, "hostname", about->host);
}

static int read_once(struct source *source, size_t format, struct sink *sink, struct import_about *about, struct diag_list *said)
{
	struct diag_list *heard = source->diags;
	int result;

	*about = (struct import_about){0};
	source->diags = said;
	result = formats[format].read(source, sink, about);
	source->diags = heard;
	return result;
}

/*
 * Reads the file; once more where it is not in order, as its importer had promised, or where its times lie too far apart for one log. What
 * is wrong with it is said by the last reading.
 */
static int read_file(struct source *source, size_t format, struct sink **sink, struct import_about *about)
{
	struct diag_list said = {0};
	uint64_t from_ns = 0, to_ns = 0;
	unsigned damage = source->damage;
	int may_order = 1, result;

	for (;;) {
		*sink = sink_make(may_order);
		sink_narrow(*sink, from_ns, to_ns);
		result = read_once(source, format, *sink, about, &said);
		if (may_order && sink_is_disordered(*sink))
			may_order = 0;
		else if (to_ns || !sink_is_too_wide(*sink, &from_ns, &to_ns))
			break;
		sink_free(*sink);
		source->damage = damage;
		diag_free(&said);
	}
	diag_move(source->diags, &said);
	return result;
}

int import_file(const char *path, enum import_kind kind, struct diag_list *diags)
{
	struct source source;
	struct sink *sink;
	struct import_about about = {0};
	struct sink_header header = {.log_id = file_hash(path)};
	size_t format = 0;
	int descriptor = -1, result;

	while (formats[format].kind != kind)
		format++;
	if (source_open(&source, path, UINT64_MAX, diags) != 0) {
		diag_add(diags, DIAG_FATAL, path, DIAG_NO_OFFSET, "", "cannot be opened");
		return -1;
	}
	result = read_file(&source, format, &sink, &about);
	if (result != 0 && about.unread)
		diag_add(diags, DIAG_FATAL, path, DIAG_NO_OFFSET, "record what begins and ends on a thread (\"ph\": X, or B and E)",
			 "the file holds events of kinds alone that are not read from such a file");
	else if (result != 0)
		diag_add(diags, DIAG_FATAL, path, DIAG_NO_OFFSET, "record again; a run of some steps is enough",
			 "the file holds no events");
	say_what_it_is(sink, path, formats[format].name, &about);
	header.job[0] = folder_hash(path, BASE_HASH) | 1;
	header.job[1] = base_mix(header.job[0]);
	header.command = about.command[0] ? about.command : formats[format].name;
	header.origin_ns = sink_first_ns(sink);
	header.pid = about.pid;
	descriptor = sink_finish(sink, &header);
	if (result != 0) {
		close(descriptor);
		descriptor = -1;
	}
	if (sink_names_lost(sink))
		source_damage(&source, DIAG_NO_OFFSET, "nothing can be done: they stand as [name not recorded]",
			      "the file has more than 65535 distinct names; events with the further ones have none");
	sink_free(sink);
	source_close(&source);
	return descriptor;
}
