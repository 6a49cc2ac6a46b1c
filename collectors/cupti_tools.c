/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's tools beside us; see collectors/cupti_tools.h. */
#include "collectors/cupti_tools.h"

#include "writer/sys.h"

#include <link.h>
#include <stddef.h>

static const struct {
	const char *library, *words;
} libraries[] = {
#define TFP_CUPTI_TOOL_LIBRARY(library, tool) \
	{library, tool " works in this process, and CUPTI cannot be used beside it: only the host's calls are recorded. For device " \
		       "times run without it. Result "},
#define TFP_CUPTI_TOOL_PROGRAM(name)
#include "collectors/tables/cupti_tools.def"
#undef TFP_CUPTI_TOOL_LIBRARY
#undef TFP_CUPTI_TOOL_PROGRAM
};

static const char *const programs[] = {
#define TFP_CUPTI_TOOL_LIBRARY(library, tool)
#define TFP_CUPTI_TOOL_PROGRAM(name) name,
#include "collectors/tables/cupti_tools.def"
#undef TFP_CUPTI_TOOL_LIBRARY
#undef TFP_CUPTI_TOOL_PROGRAM
};

#define LIBRARIES (sizeof libraries / sizeof *libraries)

/* Under the loader's lock: reads names, calls nobody. The first of the rows that some object is of. */
static int look(struct dl_phdr_info *info, size_t bytes, void *into)
{
	const char *base = info->dlpi_name ? tfp_base_name(info->dlpi_name) : "";
	size_t *first = into;

	(void)bytes;
	for (size_t i = 0; i < *first; i++)
		if (tfp_begins_with(base, libraries[i].library))
			*first = i;
	return 0;
}

const char *tfp_cupti_tool_here(void)
{
	size_t first = LIBRARIES;

	dl_iterate_phdr(look, &first);
	return first < LIBRARIES ? libraries[first].words : NULL;
}

int tfp_cupti_names_tool(const char *list)
{
	for (const char *base = list; list && *list; list++) {
		if (*list == ':' || *list == ' ' || *list == '/')
			base = list + 1;
		if (base != list)
			continue;
		for (size_t i = 0; i < LIBRARIES; i++)
			if (tfp_begins_with(base, libraries[i].library))
				return 1;
	}
	return 0;
}

int tfp_cupti_is_tool(const char *path)
{
	const char *base = tfp_base_name(path);

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		const char *end = base + tfp_length(programs[i]);
		if (tfp_begins_with(base, programs[i]) && (!*end || *end == '-'))
			return 1;
	}
	return 0;
}
