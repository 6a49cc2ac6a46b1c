/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of frameworks' allocators; see allocators.h. There are few of them: searches are linear, the sort inserts. */
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

	for (size_t i = 0; i < list->count; i++) {
		one = allocators_at(list, i);
		if (one->name == word)
			return *is_new = false, one;
	}
	one = add(list);
	*one = (struct allocator){.log_id = list->input->process->log_id, .process = list->input->index, .name = word};
	*is_new = true;
	return one;
}

/* Names, not their numbers, which differ between results. */
static bool comes_before(const struct allocator_list *list, size_t i, size_t k)
{
	const struct allocator *one = allocators_at(list, i), *other = allocators_at(list, k);

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id;
	return strcmp(list->words.items[one->name], list->words.items[other->name]) < 0;
}

void allocators_sort(struct allocator_list *list)
{
	void *moved = base_alloc(1, list->size);

	for (size_t i = 1; i < list->count; i++)
		for (size_t k = i; k > 0 && comes_before(list, k, k - 1); k--) {
			memcpy(moved, allocators_at(list, k), list->size);
			memcpy(allocators_at(list, k), allocators_at(list, k - 1), list->size);
			memcpy(allocators_at(list, k - 1), moved, list->size);
		}
	free(moved);
}

void allocators_merge(struct allocator_list *into, const struct allocator_list *from,
		      void (*own)(struct allocator_list *into, const struct allocator_list *from, void *copy))
{
	for (size_t i = 0; i < from->count; i++) {
		struct allocator *copy = memcpy(add(into), allocators_at(from, i), from->size);
		copy->name = allocators_word(into, from, copy->name);
		own(into, from, copy);
	}
	allocators_sort(into);
}

void allocators_free(struct allocator_list *list, void (*drop)(void *item))
{
	for (size_t i = 0; i < list->count; i++)
		drop(allocators_at(list, i));
	free(list->items);
	words_free(&list->words);
	free(list);
}
