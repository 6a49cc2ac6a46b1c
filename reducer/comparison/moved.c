/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose files lie elsewhere; see reducer/comparison/moved.h. */
#include "reducer/comparison/moved.h"

#include <stdlib.h>
#include <string.h>

/* A row that only one run has. */
struct lone {
	struct join_row *row;
	size_t length; /* of its file's name */
};

/* In front of a place of a path: a '/' and its beginning come first, for what is behind them is whole. */
static int letter(const char *path, size_t at)
{
	return at && path[at - 1] != '/' ? (unsigned char)path[at - 1] : 0;
}

/* By function, then by the file from its end on, folder by folder. */
static int by_end(const void *a, const void *b)
{
	const struct lone *one = a, *other = b;
	const char *left = one->row->keys[1], *right = other->row->keys[1];
	int order = strcmp(one->row->keys[0], other->row->keys[0]);

	for (size_t i = one->length, k = other->length; !order && (i || k);) {
		int from = letter(left, i), to = letter(right, k);
		order = from != to ? from - to : i && k ? 0 : (i > 0) - (k > 0);
		i -= i > 0;
		k -= k > 0;
	}
	return order ? order : one->row->before.is_there - other->row->before.is_there;
}

/* How many names at the ends of their paths are the same, the file's first; 0 = not even that, or another function. */
static size_t names_alike(const struct lone *one, const struct lone *other)
{
	const char *left = one->row->keys[1], *right = other->row->keys[1];
	size_t i = one->length, k = other->length, count = 0;

	if (strcmp(one->row->keys[0], other->row->keys[0]) != 0)
		return 0;
	for (; i && k && left[i - 1] == right[k - 1]; i--, k--)
		count += left[i - 1] == '/';
	return count + ((!i || left[i - 1] == '/') && (!k || right[k - 1] == '/') && i + k > 0);
}

/* Joins each two that have more of their paths in common than with any other, and leaves the rest. */
static size_t join_alike(struct lone *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0, last = 0; i < count; i++) {
		size_t next = i + 1 < count ? names_alike(&list[i], &list[i + 1]) : 0;
		size_t beyond = i + 2 < count ? names_alike(&list[i + 1], &list[i + 2]) : 0;
		struct join_row *one = list[i].row;
		if (next > last && next > beyond && one->before.is_there != list[i + 1].row->before.is_there) {
			struct join_row *other = list[i + 1].row, *newer = one->after.is_there ? one : other;
			struct join_row *older = newer == one ? other : one;
			newer->before = older->before;
			older->before = (struct join_side){0};
			last = beyond;
			i++;
		} else {
			list[kept++] = list[i];
			last = next;
		}
	}
	return kept;
}

#define ROUNDS 16 /* what was joined is in nobody's way: two of one name are told apart by what lies around them */

size_t moved_join(struct join *join, size_t value)
{
	struct lone *list = base_alloc(join->count + 1, sizeof(*list));
	size_t count = 0, joined = 0;

	for (size_t i = 0; i < join->count; i++) {
		struct join_row *row = &join->rows[i];
		if (row->before.is_there != row->after.is_there && row->before.values[value] + row->after.values[value] > 0)
			list[count++] = (struct lone){row, strlen(row->keys[1])};
	}
	if (count)
		qsort(list, count, sizeof(*list), by_end);
	for (size_t round = 0, before = count + 1; round < ROUNDS && count < before; round++) {
		before = count;
		count = join_alike(list, count);
		joined += (before - count) / 2;
	}
	free(list);
	return joined;
}
