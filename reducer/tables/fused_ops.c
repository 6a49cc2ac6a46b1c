/* SPDX-License-Identifier: Apache-2.0 */
/* See reducer/tables/fused_ops.h. */
#include "reducer/tables/fused_ops.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FUSED "_fused_"

static const char *const names[] = {
#include "reducer/tables/fused_ops.def"
};

struct part {
	const char *at;
	size_t length;
};

static int compare(const void *key, const void *element)
{
	const struct part *part = key;
	const char *name = *(const char *const *)element;
	int order = strncmp(part->at, name, part->length);

	return order ? order : name[part->length] ? -1 : 0;
}

static bool is_op(const char *at, size_t length)
{
	struct part part = {at, length};

	return bsearch(&part, names, sizeof(names) / sizeof(names[0]), sizeof(names[0]), compare) != NULL;
}

/* Bytes of the longest op's name that begins here and ends before a "_" or at the end; 0 = of none. */
static size_t longest_op(const char *at, size_t rest)
{
	for (size_t length = rest; length > 0; length--)
		if ((length == rest || at[length] == '_') && is_op(at, length))
			return length;
	return 0;
}

static void put(struct text *text, size_t begin, const char *at, size_t length)
{
	if (length == 0)
		return;
	if (text->length > begin)
		text_string(text, ", ");
	text_put(text, at, length);
}

/* Without the number behind it, and what older Triton adds to tell variants apart: "_3", "_0d1d2de". */
static size_t length_of(const char *at)
{
	size_t length = strlen(at);

	for (size_t k = length; k-- > 0;)
		if (at[k] == '_' && isdigit((unsigned char)at[k + 1]))
			length = k;
		else if (at[k] == '_')
			break;
	return length;
}

void fused_ops_put(struct text *text, const char *kernel)
{
	const char *at = strncmp(kernel, "triton_", 7) == 0 ? strstr(kernel, FUSED) : NULL, *unknown;
	size_t rest, begin = text->length;

	if (!at)
		return;
	at += sizeof(FUSED) - 1;
	rest = isdigit((unsigned char)*at) ? 0 : length_of(at);
	unknown = at;
	while (rest) {
		size_t op = longest_op(at, rest), word = op;
		if (op) {
			put(text, begin, unknown, unknown < at ? (size_t)(at - unknown) - 1 : 0);
			put(text, begin, at, op);
		} else {
			word = 1; /* a name may begin with "_" */
			while (word < rest && at[word] != '_')
				word++;
		}
		at += word < rest ? word + 1 : word;
		rest -= word < rest ? word + 1 : word;
		unknown = op ? at : unknown;
	}
	put(text, begin, unknown, (size_t)(at - unknown));
}
