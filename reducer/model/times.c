/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the ticks that reading left in the fields of a process into ns since the run's start. */
#include "reducer/model/internal.h"

static void convert(const struct process *process, int64_t *time)
{
	if (*time != TIME_UNKNOWN)
		*time = process_ns(process, (uint64_t)*time);
}

void times_threads(struct process *process)
{
	for (size_t i = 0; i < process->thread_count; i++) {
		convert(process, &process->threads[i].start_ns);
		convert(process, &process->threads[i].end_ns);
	}
	for (size_t i = 0; i < process->loss_count; i++) {
		convert(process, &process->losses[i].first_ns);
		convert(process, &process->losses[i].last_ns);
	}
}

static void convert_timeline(const struct process *process, struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count; i++) {
		convert(process, &timeline->points[i].time_ns);
		convert(process, &timeline->points[i].max_time_ns);
	}
}

static void convert_account(const struct process *process, struct account *account)
{
	convert(process, &account->peak_time_ns);
	convert(process, &account->requested_peak_time_ns);
	convert_timeline(process, &account->timeline);
	convert_timeline(process, &account->reserved);
}

void times_scanned(struct process *process)
{
	convert_account(process, &process->heap);
	convert_account(process, &process->mmap);
	for (size_t i = 0; i < process->account_count; i++)
		convert_account(process, &process->accounts[i]);
	for (size_t i = 0; i < process->window_count; i++)
		convert(process, &process->windows[i].time_ns);
}

void times_modules(struct process *process)
{
	for (size_t i = 0; i < process->module_count; i++) {
		struct module *module = &process->modules[i];

		module->loaded_ns = process_ns(process, module->loaded_ticks);
		module->unloaded_ns = module->unloaded_ticks == 0 ? TIME_UNKNOWN : process_ns(process, module->unloaded_ticks);
	}
}
