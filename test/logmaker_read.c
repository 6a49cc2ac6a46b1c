/* SPDX-License-Identifier: Apache-2.0 */
/* Reading made logs again. See logmaker.h. */
#include "reducer/read/events.h"
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

const char *maker_path(void)
{
	static char path[64];

	if (path[0] == 0)
		snprintf(path, sizeof path, "/proc/self/fd/%d", memfd_create("made", MFD_CLOEXEC));
	return path;
}

struct log *maker_open(const struct maker *maker, size_t bytes, struct diag_list *diags)
{
	*diags = (struct diag_list){0};
	if (maker_write(maker, maker_path(), bytes) != 0)
		abort();
	return log_open(maker_path(), diags);
}

uint64_t maker_count_records(const struct log *log)
{
	uint64_t count = 0;

	for (size_t i = 0; i < log->stream_count; i++) {
		for (size_t k = 0; k < log->streams[i].count; k++) {
			struct events *events = events_open(log, &log->streams[i].parts[k]);
			struct batch batch = {0};

			while (events != NULL && events_next(events, &batch) > 0)
				count += batch.count;
			events_close(events);
			batch_free(&batch);
		}
	}
	return count;
}
