/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's lines of the summary.
 *
 * Rule: the three classes of launches are always said, 0 or not, where there was a device or a launch.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/gpu_brief.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_SHOWN 4
#define REASONS_SHOWN 2

static void put_peak(struct summary *summary, const struct gpu_brief_device *device)
{
	struct text peak = {0};

	text_string(&peak, device->is_least ? ">= " : "");
	text_size(&peak, (int64_t)device->peak_bytes);
	text_format(&summary->line, "%14s", peak.bytes);
	text_free(&peak);
}

/* Work that was asked for in a window may go on behind it: then it is a part of nothing. */
static void put_share(struct summary *summary, const struct gpu_brief_device *device)
{
	double share = device->recorded_ns ? 100.0 * (double)device->busy_ns / (double)device->recorded_ns : 0;
	char text[32];

	snprintf(text, sizeof(text), "%.1f %%", share);
	text_format(&summary->line, "%9s", device->processes > 1 || device->busy_ns > device->recorded_ns ? "-" : text);
}

/* Does another process of the same machine call another device by that number? */
static bool is_ambiguous(const struct gpu_brief *brief, const struct gpu_brief_device *device)
{
	for (size_t i = 0; i < brief->device_count; i++) {
		const struct gpu_brief_device *other = &brief->devices[i];
		const char *host = device->process->of_host, *other_host = other->process->of_host;
		if (other != device && other->id == device->id &&
		    (host == other_host || (host && other_host && strcmp(host, other_host) == 0)))
			return true;
	}
	return false;
}

/* is_recorded: that nothing ran on it is known, not only that nobody looked. */
static void put_device(struct summary *summary, const struct gpu_brief *brief, const struct gpu_brief_device *device, bool is_recorded)
{
	struct text name = {0};

	text_format(&name, "%" PRIu32 " ", device->id);
	if (is_ambiguous(brief, device) && device->process->is_of_rank)
		text_format(&name, "of rank %" PRIu64 " ", device->process->of_rank);
	else if (is_ambiguous(brief, device))
		text_format(&name, "of %" PRIu32 " ", device->process->pid);
	if (device->process->of_host) {
		text_string(&name, "of ");
		escape_visible(&name, device->process->of_host, strnlen(device->process->of_host, 64));
		text_char(&name, ' ');
	}
	escape_visible(&name, device->name, strnlen(device->name, 64));
	escape_cut(&name, 20);
	text_format(&summary->line, "  %s", name.bytes);
	text_fill(&summary->line, ' ', 22 - escape_width(name.bytes, name.length));
	if (is_recorded) {
		summary_number(summary, human_ns, (int64_t)device->busy_ns, 10);
		put_share(summary, device);
		summary_number(summary, human_count, (int64_t)device->kernels, 11);
		summary_number(summary, human_count, (int64_t)device->copies, 11);
	} else {
		text_format(&summary->line, "%10s%9s%11s%11s", "-", "-", "-", "-");
	}
	if (device->has_peak)
		put_peak(summary, device);
	else
		text_format(&summary->line, "%14s", "-"); /* no call that allocates was seen */
	summary_end_line(summary);
	text_free(&name);
}

static void put_launches(struct summary *summary, const struct gpu_brief *brief)
{
	text_string(&summary->line, "  Launches: ");
	human_count(&summary->line, (int64_t)brief->paired);
	text_string(&summary->line, " paired, ");
	human_count(&summary->line, (int64_t)brief->device_only);
	text_string(&summary->line, " device-only, ");
	human_count(&summary->line, (int64_t)brief->host_only);
	text_string(&summary->line, " host-only");
	if (brief->impossible) {
		text_string(&summary->line, "; ");
		human_count(&summary->line, (int64_t)brief->impossible);
		text_string(&summary->line, " with impossible times");
	}
	if (brief->endless) {
		text_string(&summary->line, "; ");
		human_count(&summary->line, (int64_t)brief->endless);
		text_string(&summary->line, " without an end");
	}
	summary_end_line(summary);
	for (size_t i = 0; i < brief->reason_count && i < REASONS_SHOWN; i++) {
		text_string(&summary->line, "    ");
		human_count(&summary->line, (int64_t)brief->reasons[i].count);
		text_format(&summary->line, " %s: %s", brief->reasons[i].count == 1 ? brief->reasons[i].one : brief->reasons[i].what,
			    brief->reasons[i].reason);
		summary_end_line(summary);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct gpu_brief_device *left = a, *right = b;

	return left->busy_ns != right->busy_ns ? (left->busy_ns < right->busy_ns ? 1 : -1)
					       : (left->id > right->id) - (left->id < right->id);
}

/* A framework asked whether there is a GPU, and there was none. */
static bool is_idle(const struct gpu_brief *brief)
{
	return !brief->device_count && !brief->reason_count &&
	       !(brief->paired || brief->device_only || brief->host_only || brief->impossible || brief->endless);
}

void summary_put_gpu(struct summary *summary)
{
	struct gpu_brief brief;
	size_t shown = 0, kept;
	bool is_part = false;

	gpu_brief(&brief, summary->request);
	for (size_t i = 0; i < brief.device_count; i++)
		is_part |= brief.devices[i].processes && brief.devices[i].recorded_ns < (uint64_t)summary->request->run->duration_ns;
	if (!brief.any || is_idle(&brief) ||
	    !summary_heading(summary, is_part ? "GPU                          busy of window    kernels     copies   memory peak"
					      : "GPU                           busy   of run    kernels     copies   memory peak", 2)) {
		gpu_brief_free(&brief);
		return;
	}
	if (brief.device_count)
		qsort(brief.devices, brief.device_count, sizeof(*brief.devices), by_time);
	kept = 1 + (brief.reason_count < REASONS_SHOWN ? brief.reason_count : REASONS_SHOWN);
	for (; shown < brief.device_count && shown < DEVICES_SHOWN; shown++) {
		bool is_last = shown + 1 == brief.device_count;
		if (shown && summary_left(summary) < 1 + !is_last + kept)
			break;
		put_device(summary, &brief, &brief.devices[shown], brief.paired || brief.device_only || !brief.host_only);
	}
	summary_more(summary, brief.device_count, shown, "device_timeline");
	put_launches(summary, &brief);
	gpu_brief_free(&brief);
}
