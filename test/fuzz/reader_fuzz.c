/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a log, through reader, model, --check, --dump and the second pass; or as a file of another
 * profiler. report_fuzz.c goes on to tables and formats, and is 100 times slower.
 */
#include "reducer/check.h"
#include "reducer/dump.h"
#include "reducer/model/spans.h"
#include "test/fuzz/input.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int tell(void *context, const struct span *span)
{
	FILE *out = context;

	fprintf(out, "%s %" PRId64 " %" PRIu64 "\n", span->name, span->start_ns, span->duration_ns);
	return 0;
}

static void read_all(const char *path, FILE *out)
{
	const struct run_options options = {.wants_launches = 1};
	struct diag_list diags = {0};
	struct run *run = run_open(&path, 1, &options, &diags);

	if (run != NULL) {
		check_run(out, run, &options);
		dump_run(out, run);
		for (size_t p = 0; p < run->process_count; p++)
			spans_stream(run, p, &(struct span_options){.wants = ~0u, .visit = tell, .context = out});
	}
	run_close(run);
	diag_free(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;

	if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL)
		abort();
	read_all(input_file(data, size), nowhere);
	return 0;
}
