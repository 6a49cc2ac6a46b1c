/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at native code say of the steps as a whole; see native_looks.h. */
#include "reducer/tables/native_looks.h"

#include <string.h>

/* Where CPython waits for its lock; where static functions have no names what is exported and does so, of these the one with most. */
static size_t waits_for_python(const struct native_looks *looks)
{
	static const char *const names[] = {"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "PyGILState_Ensure"};
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < looks->names.count; i++) {
		uint64_t waited = native_looks_waited(looks, &looks->list[i].total);
		size_t known = 0;
		while (known < sizeof(names) / sizeof(names[0]) && strcmp(looks->names.list[i].function, names[known]) != 0)
			known++;
		if (known == 0)
			return i;
		if (known < sizeof(names) / sizeof(names[0]) &&
		    (most == SIZE_MAX || waited > native_looks_waited(looks, &looks->list[most].total)))
			most = i;
	}
	return most;
}

double native_looks_lock(const struct request *request, uint64_t *ns, struct text *where)
{
	struct native_looks looks;
	double percent = -1;

	*ns = 0;
	if (!native_looks_any(request))
		return -1;
	native_looks_gather(&looks, request, true);
	if (looks.has_steps && looks.has_waits && looks.all.looks >= NATIVE_LOOKS_ENOUGH && native_looks_whole(&looks)) {
		uint64_t whole = native_looks_whole(&looks);
		size_t function = waits_for_python(&looks);
		*ns = function == SIZE_MAX ? 0 : native_looks_waited(&looks, &looks.list[function].total);
		*ns = *ns < whole ? *ns : whole;
		percent = 100.0 * (double)*ns / (double)whole;
		if (function != SIZE_MAX)
			text_format(where, "function=%s", looks.names.list[function].function);
	}
	native_looks_free(&looks);
	return percent;
}

void native_looks_say_lock(struct text *sentence, const struct request *request, double least)
{
	struct text where = {0};
	uint64_t ns;
	double percent = native_looks_lock(request, &ns, &where);

	text_free(&where);
	if (percent >= least)
		text_format(sentence,
			    " For %.0f %% of the step time the steps' thread waited for Python's lock (GIL), which another one had, by "
			    "looks at native code.",
			    percent);
}

/* The function in which the threads that count were longest, computing or waiting. SIZE_MAX = none. */
static size_t longest(const struct native_looks *looks)
{
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < looks->names.count; i++)
		if (looks->list[i].own.step_scope_ns > (most == SIZE_MAX ? 0 : looks->list[most].own.step_scope_ns))
			most = i;
	return most;
}

void native_looks_say(struct text *sentence, const struct request *request, double least)
{
	struct native_looks looks;
	size_t most;

	if (!native_looks_any(request))
		return;
	native_looks_gather(&looks, request, true);
	most = looks.has_steps && looks.all.looks >= NATIVE_LOOKS_ENOUGH && native_looks_whole(&looks) ? longest(&looks) : SIZE_MAX;
	if (most != SIZE_MAX) {
		const struct native_sums *own = &looks.list[most].own;
		const struct python_line_name *name = &looks.names.list[most];
		double whole = (double)native_looks_whole(&looks), percent = 100.0 * (double)own->step_scope_ns / whole;
		bool has_waited = 2 * own->step_wait_ns > own->step_scope_ns;
		if (percent >= least)
			text_format(sentence,
				    " The steps' thread was in %s%s%s%s for %.0f %% of the step time, %s%s%s, by looks at native code.",
				    name->function, name->file[0] ? " [" : "", name->file, name->file[0] ? "]" : "",
				    percent < 100 ? percent : 100, has_waited ? "mostly waiting (" : "mostly computing",
				    has_waited ? native_looks_waits_in(looks.list[most].step_waits) : "", has_waited ? ")" : "");
	}
	native_looks_free(&looks);
}
