/* SPDX-License-Identifier: Apache-2.0 */
/* The time line of a run for the HTML report's Trace page. Rule: it has at most the bytes it is given, whatever the run's length.
 */
#ifndef REDUCER_TRACE_DIGEST_WRITE_H
#define REDUCER_TRACE_DIGEST_WRITE_H

#include "reducer/tables/request.h"

/*
 * Streams the spans of the wanted processes and appends a JSON object of at most `most` bytes to `out`; "null" when nothing
 * was recorded or no digest fits. What it holds is read by reducer/report/html/trace_data.js. The run is scanned.
 */
void digest_write(struct text *out, const struct request *request, size_t most);

#endif
