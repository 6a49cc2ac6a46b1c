/* SPDX-License-Identifier: Apache-2.0 */
/* Asking XLA for its modules; see preload/xla.h. */
#include "preload/xla.h"

#include "collectors/process.h"
#include "preload/environment.h"
#include "preload/settings.h"
#include "writer/records.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define FLAGS_ROOM 8192 /* two paths of PATH_MAX */

static char *put(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

/* "--xla_dump_to=/where/OUT/xla --xla_dump_hlo_as_proto": the path is whole, as the host may change its folder. */
static void make_flags(char *flags)
{
	char *at = put(flags, flags + FLAGS_ROOM - 1, "--xla_dump_to="), *end = flags + FLAGS_ROOM - 1;

	at = put(at, end, tfp_settings_out());
	at = put(at, end, "/xla --xla_dump_hlo_as_proto");
	*at = 0;
}

void tfp_xla_ask(void)
{
	static const char *const names[] = {"XLA_FLAGS", NULL};

	if (!tfp_settings.xla_dump)
		return;
	if (tfp_environment_get(names[0])) {
		tfp_fact_pair(TFP_TAG_note, "xla_flags",
			      "XLA_FLAGS was set already: it is left alone, so no modules of XLA were asked for.");
		return;
	}
	char *flags = tfp_pages_get(FLAGS_ROOM, 0);
	if (!flags)
		return;
	make_flags(flags);
	tfp_environment_offer(names, flags);
	tfp_fact_pair(TFP_TAG_note, "xla_dump",
		      tfp_environment_get(names[0]) ? flags : "Setting ENV=0 forbids to ask XLA for its modules.");
	tfp_pages_put(flags, FLAGS_ROOM);
}
