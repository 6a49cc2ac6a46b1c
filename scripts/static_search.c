/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search trees that libdw.a and libelf.a of elfutils 0.191 and newer call, and that distributions leave out of them: their shared
 * libraries hold them. For the static reducer of `make dist` alone.
 *
 * Rule: the root is a tree's first member. Without the lock behind it, which is there only where elfutils was built for threads: of the
 * reducer one thread at a time asks libdw.
 */
#include <search.h>
#include <stddef.h>

typedef int compare_keys(const void *a, const void *b);

void *eu_tsearch(const void *key, void **tree, compare_keys *compare);
void *eu_tfind(const void *key, void **tree, compare_keys *compare);
void *eu_tdelete(const void *key, void **tree, compare_keys *compare);
void eu_search_tree_init(void **tree);
void eu_search_tree_fini(void **tree, void (*free_node)(void *node));

void *eu_tsearch(const void *key, void **tree, compare_keys *compare)
{
	return tsearch(key, tree, compare);
}

void *eu_tfind(const void *key, void **tree, compare_keys *compare)
{
	return tfind(key, tree, compare);
}

void *eu_tdelete(const void *key, void **tree, compare_keys *compare)
{
	return tdelete(key, tree, compare);
}

void eu_search_tree_init(void **tree)
{
	*tree = NULL;
}

void eu_search_tree_fini(void **tree, void (*free_node)(void *node))
{
	tdestroy(*tree, free_node);
	*tree = NULL;
}
