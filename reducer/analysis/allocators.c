/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of frameworks' allocators; see allocators.h. There are few of a process, and may be many processes. */
#include "reducer/analysis/allocators.h"

#include <stdlib.h>
#include <string.h>

struct allocator_list *allocators_begin(const struct analysis_input *input, size_t size)
{
	struct allocator_list *list = base_alloc(1, sizeof(*list));

	list->input = input;
	list->size = size;
	return list;
}

static void *add(struct allocator_list *list)
{
	list->items = base_grow(list->items, &list->room, list->count + 1, list->size);
	return memset(allocators_at(list, list->count++), 0, list->size);
}

void *allocators_of(struct allocator_list *list, const char *name, bool *is_new)
{
	uint32_t word = words_lasting(&list->words, name);
	struct allocator *one;

	list->of_word = base_reach(list->of_word, &list->of_word_room, word, sizeof(*list->of_word));
	if (list->of_word[word] != 0)
		return *is_new = false, allocators_at(list, list->of_word[word] - 1);
	one = add(list);
	list->of_word[word] = list->count;
	*one = (struct allocator){.log_id = list->input->process->log_id, .process = list->input->index, .name = word};
	*is_new = true;
	return one;
}

/* Names, not their numbers, which differ between results. */
static int in_order(const void *a, const void *b, void *context)
{
	const struct words *words = &((const struct allocator_list *)context)->words;
	const struct allocator *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	return strcmp(words->items[one->name], words->items[other->name]);
}

void allocators_sort(struct allocator_list *list)
{
	if (list->count)
		qsort_r(list->items, list->count, list->size, in_order, list);
	free(list->of_word); /* they lie elsewhere now, and no span follows */
	list->of_word = NULL;
	list->of_word_room = 0;
}

/* The items from `before` on are in order, and so are those in front of them: only what has to make place moves. */
static void put_in_order(struct allocator_list *list, size_t before)
{
	size_t size = list->size, added = list->count - before, to = list->count;
	char *moved = base_alloc(added + 1, size);

	if (added)
		memcpy(moved, allocators_at(list, before), added * size);
	while (added > 0) {
		const char *last = moved + (added - 1) * size;
		if (before > 0 && in_order(allocators_at(list, before - 1), last, list) > 0)
			last = allocators_at(list, --before);
		else
			added--;
		memcpy(allocators_at(list, --to), last, size);
	}
	free(moved);
}

void allocators_merge(struct allocator_list *into, const struct allocator_list *from,
		      void (*own)(struct allocator_list *into, const struct allocator_list *from, void *copy))
{
	size_t before = into->count;

	for (size_t i = 0; i < from->count; i++) {
		struct allocator *copy = memcpy(add(into), allocators_at(from, i), from->size);
		copy->name = allocators_word(into, from, copy->name);
		own(into, from, copy);
	}
	put_in_order(into, before);
}

void allocators_free(struct allocator_list *list, void (*drop)(void *item))
{
	for (size_t i = 0; i < list->count; i++)
		drop(allocators_at(list, i));
	free(list->items);
	free(list->of_word);
	words_free(&list->words);
	free(list);
}
