/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups; see collectors/system_group.h. */
#include "collectors/system_group.h"

#include "collectors/system_text.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define NUMBER_ROOM 64 /* behind the path in `room`: a limit's text */

static const char *const controllers[TFP_GROUP_KINDS] = {"memory", "cpu", "cpuacct", "blkio"};

struct piece {
	const char *start;
	size_t length;
};

static const char *line_end(const char *line)
{
	while (*line && *line != '\n')
		line++;
	return line;
}

/* The next piece of a line up to `mark`; `at` moves behind it. */
static struct piece take(const char **at, const char *end, char mark)
{
	struct piece piece = {*at, 0};

	while (*at < end && **at != mark)
		++*at;
	piece.length = (size_t)(*at - piece.start);
	*at += *at < end;
	return piece;
}

/* Whether a list of words, separated by commas, has this one. */
static int has_word(struct piece list, const char *word)
{
	size_t length = tfp_length(word);
	const char *at = list.start, *end = list.start + list.length;

	while (at < end) {
		struct piece one = take(&at, end, ',');
		if (one.length == length && tfp_same(one.start, word, length))
			return 1;
	}
	return 0;
}

/* The path in the hierarchy of a controller; NULL controller: of version 2. Empty where the process is in none. */
static struct piece path_of(const char *membership, const char *controller)
{
	for (const char *line = membership, *end; *line; line = *end ? end + 1 : end) {
		const char *at = line;
		end = line_end(line);
		struct piece number = take(&at, end, ':'), list = take(&at, end, ':'), path = {at, (size_t)(end - at)};
		int is_unified = number.length == 1 && *number.start == '0' && !list.length;
		if (controller ? has_word(list, controller) : is_unified)
			return path;
	}
	return (struct piece){membership, 0};
}

/* A mount of that hierarchy: where it is, and which part of the hierarchy is there. 0, or -1. */
static int find_mount(const char *mounts, const char *controller, struct piece *point, struct piece *root)
{
	for (const char *line = mounts, *end; *line; line = *end ? end + 1 : end) {
		const char *at = line;
		end = line_end(line);
		for (int i = 0; i < 3; i++) /* its number, its parent's, its device */
			take(&at, end, ' ');
		*root = take(&at, end, ' ');
		*point = take(&at, end, ' ');
		struct piece word = {at, 0};
		while (at < end && !(word.length == 1 && *word.start == '-'))
			word = take(&at, end, ' ');
		struct piece type = take(&at, end, ' ');
		take(&at, end, ' '); /* source */
		struct piece options = {at, (size_t)(end - at)};
		size_t length = controller ? 6 : 7;
		if (type.length == length && tfp_same(type.start, "cgroup2", length) &&
		    (!controller || has_word(options, controller)))
			return 0;
	}
	return -1;
}

/* Mount point and path below it; a path outside of what is mounted is the mount itself. 0, or -1: too long. */
static int put_folder(struct tfp_group *group, struct piece point, struct piece root, struct piece path)
{
	int is_all = root.length == 1;
	int is_below = is_all || (path.length >= root.length && tfp_same(path.start, root.start, root.length) &&
				  (path.length == root.length || path.start[root.length] == '/'));

	if (!is_below || (path.length >= 3 && tfp_same(path.start, "/..", 3)))
		path.length = 0;
	else if (!is_all)
		path = (struct piece){path.start + root.length, path.length - root.length};
	if (path.length == 1) /* "/" */
		path.length = 0;
	if (point.length + path.length + NUMBER_ROOM >= TFP_GROUP_PATH)
		return -1;
	tfp_copy(group->folder, point.start, point.length);
	tfp_copy(group->folder + point.length, path.start, path.length);
	group->folder[point.length + path.length] = 0;
	return 0;
}

/* The memory limit of the folder whose path is the first `length` bytes. */
static int limit_of(const struct tfp_group *group, size_t length, tfp_group_text *text_of, char *room, uint64_t *limit)
{
	const char *name = group->version == 2 ? "/memory.max" : "/memory.limit_in_bytes";
	char *text = room + TFP_GROUP_PATH;

	tfp_copy(room, group->folder, length);
	tfp_copy(room + length, name, tfp_length(name) + 1);
	long got = text_of(room, text, NUMBER_ROOM);
	return got > 0 ? tfp_system_number(text, text + got, limit) : -1;
}

static void choose_level(struct tfp_group *group, size_t mount_length, tfp_group_text *text_of, char *room)
{
	size_t length = tfp_length(group->folder), chosen = length;
	uint64_t least = UINT64_MAX, limit;

	for (;;) {
		if (!limit_of(group, length, text_of, room, &limit) && limit < least) {
			least = limit;
			chosen = length;
		}
		if (length <= mount_length)
			break;
		while (length > mount_length && group->folder[--length] != '/')
			;
	}
	group->folder[chosen] = 0;
}

void tfp_group_find(const char *membership, const char *mounts, tfp_group_text *text_of, char *room,
		    struct tfp_group groups[TFP_GROUP_KINDS])
{
	for (int kind = 0; kind < TFP_GROUP_KINDS; kind++) {
		struct tfp_group *group = &groups[kind];
		struct piece point, root, path = path_of(membership, controllers[kind]);
		group->version = 0;
		if (path.length && !find_mount(mounts, controllers[kind], &point, &root) && !put_folder(group, point, root, path))
			group->version = 1;
		path = path_of(membership, NULL);
		if (!group->version && path.length && !find_mount(mounts, NULL, &point, &root) &&
		    !put_folder(group, point, root, path))
			group->version = 2;
		/* The level that kills for memory may lie above; of the others the process's own level is asked. */
		if (group->version && (kind == TFP_GROUP_MEMORY || group->version == 2))
			choose_level(group, point.length, text_of, room);
	}
}
