/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about what failed: memory that ran out, work on devices, calls that started none.
 *
 * Rule: what failed is told as overview.verdict has it (memory_out.h, gpu_fault_say.h).
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"
#include "reducer/tables/gpu_fault_say.h"
#include "reducer/tables/memory_end.h"
#include "reducer/tables/memory_out.h"

#include <inttypes.h>
#include <stdio.h>

static void label(struct rule_facts *facts, enum fact_id id, struct text *text)
{
	snprintf(facts->facts[id].label, FACT_LABEL, "%s", text->length ? text->bytes : "");
	text_free(text);
}

/* Where no allocation failed, the kernel may have killed for want of memory. */
static void gather_kills(struct rule_facts *facts, const struct request *request)
{
	uint64_t limit_bytes, kills = memory_end_kills(request, &limit_bytes);
	struct text how = {0};

	if (!kills)
		return;
	facts_own(facts, FACT_refused, (double)kills, "processes", "end", "%s", "");
	text_format(&how, "the kernel killed %" PRIu64 " process%s of the control group", kills, kills == 1 ? "" : "es");
	if (limit_bytes) {
		text_string(&how, ", whose limit is ");
		text_size(&how, (int64_t)limit_bytes);
	}
	text_char(&how, '.');
	label(facts, FACT_refused, &how);
	facts_own(facts, FACT_refused_kind, (double)OUT_HOST, "processes", "end", "%s", "");
}

static void gather_memory(struct rule_facts *facts, const struct request *request)
{
	const struct memory_out out = memory_out_find(request);
	struct text how = {0};

	facts_own(facts, FACT_refused, out.is_end ? (double)out.told : 0, "memory.refused", "call", "%s", "");
	if (!out.is_end) {
		gather_kills(facts, request);
		return;
	}
	text_format(&how, "%s", out.last->allocator);
	if (out.kind == OUT_HOST && out.last->requested_bytes <= INT64_MAX) {
		text_string(&how, ", asked for ");
		text_size(&how, (int64_t)out.last->requested_bytes);
	}
	if (out.has_step)
		text_format(&how, " %s step %" PRIu64, out.is_behind ? "after" : "in", out.step);
	if (out.kind == OUT_GREW) {
		text_string(&how, ", grown by ");
		text_size(&how, (int64_t)out.grown);
		text_format(&how, " since step %" PRIu64, out.since);
	} else if (out.kind == OUT_STEP) {
		text_string(&how, ", which wanted ");
		text_size(&how, (int64_t)(out.taken + out.last->requested_bytes));
		text_string(&how, ", twice as much as any before or more");
	}
	text_char(&how, '.');
	label(facts, FACT_refused, &how);
	facts_own(facts, FACT_refused_kind, (double)out.kind, "memory.timeline", "live_bytes", "allocator=%s", out.last->allocator);
}

static void gather_devices(struct rule_facts *facts, const struct request *request)
{
	uint64_t faults = 0, refused = 0;
	uint32_t result = 0, bad;
	struct text first = {0}, launch = {0};
	bool is_any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		if (!gpu)
			continue;
		is_any = true;
		faults += gpu->fault.result != 0;
		result = result ? result : gpu->fault.result;
		refused += gpu->fault.bad.result ? gpu->counts.reasons[GPU_NOT_LAUNCHED][GPU_REASON_FAILED] : 0;
	}
	if (!is_any)
		return;
	facts_own(facts, FACT_faults, (double)faults, "overview.verdict", "sentence", "%s", "area=fault");
	if (faults) {
		facts_own(facts, FACT_fault_result, result, "launches", "reason", "%s", "");
		text_format(&first, "%u (%s: %s)", result, gpu_fault_of(result)->name, gpu_fault_of(result)->text);
		label(facts, FACT_faults, &first);
	}
	facts_own(facts, FACT_bad_launches, (double)refused, "launches", "reason", "%s", "pairing=not-launched,reason=the call failed");
	bad = gpu_bad_launch_say(&launch, request, false);
	if (bad)
		facts_own(facts, FACT_bad_launch_result, bad, "launches", "reason", "%s", "reason=the call failed");
	label(facts, FACT_bad_launches, &launch);
}

void facts_gather_failure(struct rule_facts *facts, const struct request *request)
{
	gather_memory(facts, request);
	gather_devices(facts, request);
}
