/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded list of what is wrong. See diag.h. */
#include "reducer/read/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int diag_room(struct diag_list *list)
{
	struct diag *items;

	if (list->count >= DIAG_KEPT)
		return -1;
	if (list->count % 64 != 0)
		return 0;
	items = realloc(list->items, (list->count + 64) * sizeof *items);
	if (items == NULL)
		return -1;
	list->items = items;
	return 0;
}

static void free_texts(const struct diag *item)
{
	free((char *)item->file);
	free((char *)item->reason);
	free((char *)item->remedy);
}

void diag_add(struct diag_list *list, enum diag_level level, const char *file, uint64_t offset, const char *remedy,
	      const char *format, ...)
{
	char reason[512];
	struct diag *item;
	va_list arguments;

	if (level >= DIAG_DAMAGE)
		list->damage++;
	if (diag_room(list) != 0) {
		list->omitted++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	item = &list->items[list->count];
	*item = (struct diag){.level = level, .file = strdup(file), .offset = offset, .reason = strdup(reason),
			      .remedy = strdup(remedy)};
	if (item->file != NULL && item->reason != NULL && item->remedy != NULL) {
		list->count++;
		return;
	}
	free_texts(item);
	list->omitted++;
}

void diag_no_room(struct diag_list *list, const char *file, const char *what)
{
	diag_add(list, DIAG_DAMAGE, file, DIAG_NO_OFFSET, "run on a machine with more memory",
		 "this machine has too little memory for the %s of the log; some are missing", what);
}

void diag_forget(struct diag_list *list, const char *file)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct diag item = list->items[i];

		if (strcmp(item.file, file) != 0) {
			list->items[kept++] = item;
			continue;
		}
		list->damage -= item.level >= DIAG_DAMAGE;
		free_texts(&item);
	}
	list->count = kept;
}

void diag_move(struct diag_list *to, struct diag_list *from)
{
	to->damage += from->damage;
	to->omitted += from->omitted;
	for (size_t i = 0; i < from->count; i++) {
		if (diag_room(to) == 0) {
			to->items[to->count++] = from->items[i];
			from->items[i] = (struct diag){0};
		} else {
			to->omitted++;
		}
	}
	diag_free(from);
}

int diag_is_damaged(const struct diag_list *list, const char *file)
{
	if (list->damage != 0 && list->omitted != 0)
		return 1;
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].level >= DIAG_DAMAGE && strcmp(list->items[i].file, file) == 0)
			return 1;
	return 0;
}

void diag_free(struct diag_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_texts(&list->items[i]);
	free(list->items);
	*list = (struct diag_list){0};
}
