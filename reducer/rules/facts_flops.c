/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the peak of the devices: what of it was used while they computed, and on which ops the rest went.
 *
 * Rule: what has no figure counts as no arithmetic only where it is an op that is known to have none (TensorFlow's, PyTorch's own
 * that multiply nothing); products without a figure, compiled regions, kernels of no op or of somebody else's are not known, and
 * where much time is in those nothing is said.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/tables/flops_peak.h"
#include "reducer/tables/op_rows.h"

#include <stdio.h>
#include <string.h>

#define NAMED 3 /* ops in the label */

struct peak_sums {
	double used_ns; /* that the judged arithmetic would take at the peak */
	double compute_ns;
	double all, device_seconds; /* all operations, and the time that one device would take for them at its peak */
	size_t processes;
	bool is_unknown; /* a process with devices has no peak, or figures that are too low */
};

static void add_process(struct peak_sums *sums, const struct request *request, const struct flops_sum *sum, const struct step_rows *rows)
{
	struct flops_use use;

	if (!flops_use_find(&use, request, sum, rows)) {
		sums->is_unknown |= request->run->processes[sum->process].gpu && request->run->processes[sum->process].gpu->kernel_count;
		return;
	}
	if (!use.peak.devices)
		return;
	if (use.rate <= 0 || use.replaying_steps || !use.judged_flops || !use.judged_compute_ns) {
		sums->is_unknown = true;
		return;
	}
	sums->used_ns += (double)use.judged_flops * 1e9 / use.rate;
	sums->compute_ns += (double)use.judged_compute_ns;
	sums->all += (double)use.all;
	sums->device_seconds += (double)use.all * (double)use.peak.devices / use.rate;
	sums->processes++;
}

/* Is it known how much arithmetic an op's device work is, be it none? */
static bool is_known(const struct op_row *row)
{
	if (!row->name[0] || row->has_flops)
		return row->name[0] && row->flops_ns;
	if (row->is_eligible)
		return false;
	if (row->source == SOURCE_record_function)
		return strncmp(row->name, "aten::", 6) == 0;
	return row->source == SOURCE_annotation || row->source == SOURCE_eager || row->source == SOURCE_traceme;
}

/* ns that an op's device work took beyond what its arithmetic takes at the peak. */
static double lost_by(const struct op_row *row, double device_rate)
{
	double lost = (double)row->self - (row->has_flops ? (double)row->flops * 1e9 / device_rate : 0);

	return lost > 0 ? lost : 0;
}

static void put_op(char label[FACT_LABEL], const struct op_row *row, double whole, double device_rate)
{
	struct op_text text = op_text_of(row->name);
	size_t at = strlen(label);
	int length = (int)(text.name_length < 60 ? text.name_length : 60);

	snprintf(label + at, FACT_LABEL - at, "%s%.*s (%.0f %% of the kernels' time, ", at ? ", " : "", length, text.name,
		 100 * (double)row->self / whole);
	at = strlen(label);
	if (row->has_flops)
		snprintf(label + at, FACT_LABEL - at, "%.1f %% of the peak)",
			 100 * (double)row->flops * 1e9 / device_rate / (double)row->self);
	else
		snprintf(label + at, FACT_LABEL - at, "no products)");
}

/* The ops on which most is lost, of those that are known, and how much of the work is. */
static void gather_ops(struct rule_facts *facts, const struct request *request, double device_rate)
{
	const struct op_row *most[NAMED] = {NULL};
	char label[FACT_LABEL] = "";
	double known = 0, plain = 0;
	struct op_rows rows;

	op_rows_find(&rows, request, false);
	for (size_t i = 0; i < rows.device_count; i++) {
		const struct op_row *row = &rows.items[i];
		size_t place = NAMED;
		if (!is_known(row))
			continue;
		known += (double)row->self;
		plain += row->has_flops ? 0 : (double)row->self;
		while (place > 0 && (!most[place - 1] || lost_by(row, device_rate) > lost_by(most[place - 1], device_rate)))
			place--;
		for (size_t k = NAMED; k > place + 1; k--)
			most[k - 1] = most[k - 2];
		if (place < NAMED)
			most[place] = row;
	}
	for (size_t k = 0; k < NAMED && most[k]; k++)
		if (lost_by(most[k], device_rate) > 0)
			put_op(label, most[k], (double)rows.self[OP_DEVICE], device_rate);
	if (rows.self[OP_DEVICE] > 0)
		facts_own(facts, FACT_peak_known_percent, 100 * known / (double)rows.self[OP_DEVICE], "op_stats", "self_ns",
			  "side=device");
	facts_own(facts, FACT_no_product_ns, plain, "op_stats", "self_ns", "side=device");
	if (most[0]) {
		facts_own(facts, FACT_peak_lost_ns, lost_by(most[0], device_rate), "op_stats", "self_ns", "side=device,name=%.*s",
			  (int)op_text_of(most[0]->name).name_length, op_text_of(most[0]->name).name);
		memcpy(facts->facts[FACT_peak_lost_ns].label, label, sizeof(label));
	}
	op_rows_free(&rows);
}

void facts_gather_flops(struct rule_facts *facts, const struct request *request)
{
	const struct flops_found *found = request->analyses ? analyses_whole(request->analyses, &analysis_flops) : NULL;
	struct peak_sums sums = {0};
	struct step_rows rows;

	if (!found || !facts_known(facts, FACT_whole_ns) || !facts_known(facts, FACT_devices) || request->device || request->stream)
		return;
	step_rows_find(&rows, request);
	for (size_t i = 0; i < found->sum_count; i++)
		add_process(&sums, request, &found->sums[i], &rows);
	step_rows_free(&rows);
	if (!sums.processes || sums.is_unknown)
		return;
	facts_own(facts, FACT_peak_unused_percent, sums.used_ns < sums.compute_ns ? 100 * (1 - sums.used_ns / sums.compute_ns) : 0,
		  "overview.flops", "utilisation", "type=all");
	gather_ops(facts, request, sums.all / sums.device_seconds);
}
