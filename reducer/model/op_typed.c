/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ops; see reducer/model/op_typed.h. */
#include "reducer/model/op_typed.h"

#include <stddef.h>
#include <string.h>

const char *op_iterator_rest(const char *name)
{
	static const char *const firsts[] = {"Iterator::", "ReduceIterator::", "SingleElementIterator::", "ToTFRecordOpIterator::"};

	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
		if (strncmp(name, firsts[i], strlen(firsts[i])) == 0)
			return name + strlen(firsts[i]);
	return NULL;
}

int op_is_typed(const char *name)
{
	const char *colon = strchr(name, ':'), *part, *type;
	size_t length;

	if (colon == NULL || colon == name || strpbrk(colon + 1, ": ") != NULL || strpbrk(name, " (") != NULL)
		return 0;
	type = colon + 1;
	if ((*type >= 'A' && *type <= 'Z') || *type == '_')
		return 1;
	length = strcspn(type, "[");
	if (*type < 'a' || *type > 'z')
		return 0;
	for (part = colon; part > name && part[-1] != '/';)
		part--;
	return memmem(part, (size_t)(colon - part), type, length) != NULL;
}
