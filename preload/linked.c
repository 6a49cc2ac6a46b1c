/* SPDX-License-Identifier: Apache-2.0 */
/* Older versions of libc's functions; see preload/linked.h. */
#include "preload/linked.h"

#include "collectors/modules.h"
#include "preload/dynamic.h"

#include <link.h>

#include "writer/poison.h"

static int read_tables(struct tfp_dynamic *object, const void *address)
{
	const char *unused;
	const struct link_map *map = tfp_modules_object(address, &unused);

	return map && tfp_dynamic_read(object, map->l_addr, map->l_ld);
}

void *tfp_linked(void *usual, const char *name, const void *caller)
{
	struct tfp_dynamic object;
	const char *version;
	void *function = NULL;

	if (read_tables(&object, caller) && tfp_dynamic_names(&object, name, &version) && version && read_tables(&object, usual))
		function = tfp_dynamic_version(&object, name, version);
	return function ? function : usual;
}
