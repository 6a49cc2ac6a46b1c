/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a run. See run.h. */
#include "reducer/model/folder.h"
#include "reducer/model/program.h"
#include "reducer/model/rank.h"
#include "reducer/model/scan.h"

#include "reducer/import/import.h"
#include "reducer/read/schema.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The logs named or found. */
struct found {
	struct log **logs;
	size_t count;
	struct diag_list *diags;
	struct stat *files; /* of each path that was looked at; only device and inode are asked */
	size_t file_count;
};

/* Whether the file was named before, by this or another path. */
static int is_known(struct found *found, const char *path)
{
	struct stat *files = model_room(found->files, found->file_count, sizeof *files), *file;

	if (files == NULL)
		return 0;
	found->files = files;
	file = &files[found->file_count];
	if (stat(path, file) != 0)
		return 0; /* log_open says why */
	for (size_t i = 0; i < found->file_count; i++)
		if (files[i].st_dev == file->st_dev && files[i].st_ino == file->st_ino)
			return 1;
	found->file_count++;
	return 0;
}

static void open_one(struct found *found, const char *path)
{
	struct log **logs = model_room(found->logs, found->count, sizeof *logs);
	enum import_kind kind;
	int descriptor;

	if (logs == NULL)
		return;
	found->logs = logs;
	if (is_known(found, path)) {
		diag_add(found->diags, DIAG_NOTE, path, DIAG_NO_OFFSET, "", "named twice: counted once");
		return;
	}
	kind = import_recognise(path);
	if (kind == IMPORT_NONE)
		logs[found->count] = log_open(path, found->diags);
	else if ((descriptor = import_file(path, kind, found->diags)) >= 0)
		logs[found->count] = log_open_descriptor(descriptor, path, found->diags);
	if (logs[found->count] == NULL)
		return;
	log_rest(logs[found->count]);
	if (found->count > 0)
		logs[found->count]->schema = schema_share(logs[found->count]->schema, logs[found->count - 1]->schema);
	found->count++;
}

static void open_directory(struct found *found, const char *path)
{
	char **names;
	size_t count = folder_logs(path, &names);
	uint64_t damage = found->diags->damage;

	if (count == 0) { /* no logs of ours: files of another profiler? */
		free(names);
		names = NULL;
		count = import_find(path, &names, found->diags);
	}
	if (count == 0 && found->diags->damage == damage)
		diag_add(found->diags, DIAG_FATAL, path, DIAG_NO_OFFSET,
			 "name the directory that TFPROF_OUT named; tfprof doctor PROGRAM says why a program leaves no log",
			 "the directory holds no log (*.tfp) and no trace of another profiler");
	for (size_t i = 0; i < count; i++) {
		open_one(found, names[i]);
		free(names[i]);
	}
	free(names);
}

static void open_path(struct found *found, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		open_directory(found, path);
	else
		open_one(found, path);
}

static struct clock_map *clock_of(struct run_storage *storage, const struct log *log)
{
	const struct tfp_file_header *header = &log->header;
	struct clock_map *map;

	for (size_t i = 0; i < storage->clock_count; i++) {
		map = &storage->clocks[i];
		if (map->kind == header->clock_kind && memcmp(map->boot_id, header->boot_id, sizeof map->boot_id) == 0 &&
		    clock_fits(map, log))
			return map;
	}
	map = &storage->clocks[storage->clock_count++];
	memcpy(map->boot_id, header->boot_id, sizeof map->boot_id);
	map->kind = header->clock_kind;
	return map;
}

static int open_clocks(struct run *run)
{
	struct run_storage *storage = run->private;

	storage->clocks = calloc(run->process_count, sizeof *storage->clocks); /* at most one each; pointers stay valid */
	if (storage->clocks == NULL)
		return -1;
	for (size_t i = 0; i < run->process_count; i++) {
		const struct log *log = run->processes[i].log;

		run->processes[i].clock = clock_of(storage, log);
		if (clock_add_origin(run->processes[i].clock, log) != 0)
			return -1;
	}
	for (size_t i = 0; i < storage->clock_count; i++) {
		clock_settle(&storage->clocks[i]);
		storage->clocks[i].offset_ns = (int64_t)(storage->clocks[i].first_realtime_ns - (uint64_t)run->realtime_ns);
	}
	return 0;
}

/* What waitpid said wins: it is about the process, the rest is by the process. */
static void take_wait_status(struct process *process, int status)
{
	if (process->end == END_EXEC) /* it is about the program that replaced this one and has no log, or it would stand there */
		return;
	if (WIFSIGNALED(status)) {
		process->end = END_SIGNAL;
		process->end_status = WTERMSIG(status);
	} else if (WIFEXITED(status)) {
		process->end = process->log->live.end_kind == TFP_END__EXIT ? END__EXIT : END_EXIT;
		process->end_status = WEXITSTATUS(status);
	}
}

/* A log without a word of the end: its process runs, or was killed, or that cannot be known from here. */
static void look_for(struct process *process)
{
	const struct log *log = process->log;

	if (log->bytes < log->header.live_offset + log->header.live_bytes)
		process->end_doubt = "not told: the log is cut off before the words that say it";
	else if (log->is_running)
		process->end = END_RUNNING;
	else if (log->alive == ALIVE_UNKNOWN)
		process->end_doubt = "no word from the process: killed, or still running where this program cannot see it (another "
				     "machine or boot, a container)";
}

static void read_end(struct process *process)
{
	static const enum end_kind kinds[] = {[TFP_END_NONE] = END_UNKNOWN, [TFP_END_EXIT] = END_EXIT,
					      [TFP_END__EXIT] = END__EXIT,  [TFP_END_EXEC] = END_EXEC,
					      [TFP_END_ABORT] = END_ABORT,  [TFP_END_WAITED] = END_UNKNOWN,
					      [TFP_END_IMPORTED] = END_IMPORTED};
	const struct tfp_file_live *live = &process->log->live;
	struct tfp_end_payload *told = &process->told;

	process->end = live->end_kind <= TFP_END_IMPORTED ? kinds[live->end_kind] : END_UNKNOWN;
	process->end_status = (int)live->end_status;
	if (live->end_kind == TFP_END_WAITED)
		take_wait_status(process, (int)live->end_status);
	if (log_end(process->log, told) && told->pid == process->log->header.pid)
		take_wait_status(process, told->wait_status);
	else if (process->end == END_UNKNOWN)
		look_for(process);
}

/* An image that said nothing of its end (a filter, a raw system call) was replaced by exec where another has its pid and start. */
static void end_image_before(struct run *run, const struct process *process)
{
	struct process *before = process->exec_before == PROCESS_NONE ? NULL : &run->processes[process->exec_before];

	if (before != NULL && (before->end == END_UNKNOWN || before->end == END_RUNNING))
		before->end = END_EXEC;
}

static void open_process(struct run *run, struct process *process, const struct tree_choice *choice, size_t i)
{
	struct run_storage *storage = run->private;
	const struct tfp_file_header *header = &choice->logs[i]->header;

	process->log = choice->logs[i];
	process->log_id = header->log_id;
	process->pid = header->pid;
	process->parent_pid = header->parent_pid;
	process->parent = choice->parents[i];
	process->exec_before = choice->exec_before[i];
	process->is_fork = (header->flags & TFP_FILE_FORKED) != 0;
	process->window_start = header->flags & TFP_FILE_WINDOW_OPEN     ? WINDOW_OPEN
				: header->flags & TFP_FILE_WINDOW_CLOSED ? WINDOW_CLOSED
									 : WINDOW_UNSAID;
	process->has_static_allocator = (header->flags & TFP_FILE_STATIC_ALLOCATOR) != 0;
	process->command = pool_text(&storage->pool, header->command, strnlen(header->command, sizeof header->command));
	process->executable = process->command;
	process->mode = (int)process->log->live.heap_mode;
	facts_read(&storage->pool, process);
	process->is_full = strcmp(process_setting(process, "MALLOC"), "full") == 0;
	read_end(process);
	end_image_before(run, process);
	process->end_ticks = program_last_ticks(process->log);
	threads_build(process, NULL);
	process->is_heap_unseen = process->has_static_allocator || (process->allocator_before != NULL &&
								    process->heap.allocations == 0 && process->heap.frees == 0);
	storage->all_bytes += process->log->bytes;
	log_rest(process->log);
}

/*
 * A process that was killed may have recorded nothing for long: its end is that of whoever waited for it; of one that runs it is now. Only
 * by the clock that nobody sets: who put the wall clock right meanwhile would have had it last for days. Logs of before do not tell it.
 */
static int64_t find_gone(const struct process *process)
{
	uint64_t waited_ns = program_waited_ns(process->log, &process->told);
	int64_t gone_ns;

	if (waited_ns == 0 || process->start_ns == TIME_UNKNOWN)
		return process->end_ns;
	gone_ns = (int64_t)((uint64_t)process->start_ns + waited_ns); /* a damaged start may be anything */
	return gone_ns > process->end_ns ? gone_ns : process->end_ns;
}

void run_set_length(struct run *run)
{
	run->duration_ns = 0;
	run->gone_ns = 0;
	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];

		if (process->end_ns > run->duration_ns)
			run->duration_ns = process->end_ns;
		if (process->gone_ns > run->gone_ns)
			run->gone_ns = process->gone_ns;
	}
}

void run_set_times(struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++) {
		struct process *process = &run->processes[i];

		process->start_ns = process_ns(process, 0);
		process->end_ns = process_ns(process, process->end_ticks);
		process->gone_ns = find_gone(process);
		times_threads(process);
		times_modules(process);
	}
	run_set_length(run);
}

/* An image that another one replaced: where none of the logs is that one's, what it did is not recorded. */
static void find_unfollowed(struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].end == END_EXEC)
			run->processes[i].end_doubt = "replaced by a program without a log (exec)";
	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].exec_before != PROCESS_NONE)
			run->processes[run->processes[i].exec_before].end_doubt = NULL;
}

/* Whoever is named by that pid below that parent and says nothing of its end: 1 = it is this process alone. */
static int is_only_one(const struct run *run, const struct process *process)
{
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++)
		count += run->processes[i].pid == process->pid && run->processes[i].parent == process->parent &&
			 run->processes[i].log->live.end_kind == TFP_END_NONE;
	return count == 1;
}

/* A process that was killed has no word of its own: who waited for it has one. Asked before any log is left out. */
static void ask_parent(const struct run *run, struct process *process)
{
	if (process->end != END_UNKNOWN || process->parent == PROCESS_NONE || !is_only_one(run, process))
		return;
	const struct process *parent = &run->processes[process->parent];
	for (size_t i = 0; i < parent->child_end_count; i++)
		if (parent->child_ends[i].pid == process->pid && WIFSIGNALED(parent->child_ends[i].status)) {
			process->end = END_SIGNAL;
			process->end_doubt = NULL;
			process->end_status = WTERMSIG(parent->child_ends[i].status);
		}
}

static struct run *make_run(struct tree_choice *choice, struct run *run)
{
	run->processes = calloc(choice->count, sizeof *run->processes);
	if (run->processes == NULL)
		return NULL;
	run->process_count = choice->count;
	for (size_t i = 0; i < choice->count; i++)
		run->processes[i].path = choice->logs[i]->path;
	total_ask(run);
	for (size_t i = 0; i < choice->count; i++)
		open_process(run, &run->processes[i], choice, i);
	for (size_t i = 0; i < choice->count; i++)
		ask_parent(run, &run->processes[i]);
	find_unfollowed(run);
	run_name_processes(run);
	if (open_clocks(run) != 0)
		return NULL;
	run_set_times(run);
	return run;
}

struct run *run_open(const char *const *paths, size_t count, const struct run_options *options, struct diag_list *diags)
{
	struct found found = {.diags = diags};
	struct run *run = calloc(1, sizeof *run);
	struct tree_choice choice = {0};
	struct run_storage *storage;
	int is_chosen;

	if (run == NULL)
		return NULL;
	run->diags = diags;
	run->private = storage = calloc(1, sizeof *storage);
	if (storage != NULL)
		pthread_mutex_init(&storage->lock, NULL);
	for (size_t i = 0; i < count; i++)
		open_path(&found, paths[i]);
	found.count = tree_drop_copies(found.logs, found.count, diags);
	is_chosen = run->private != NULL && found.count > 0 &&
		    tree_choose(found.logs, found.count, options == NULL ? NULL : options->name, run, &choice) == 0;
	if (!is_chosen || make_run(&choice, run) == NULL) {
		for (size_t i = 0; !is_chosen && i < found.count; i++)
			log_close(found.logs[i]);
		run_close(run);
		run = NULL;
	}
	free(choice.parents);
	free(choice.exec_before);
	free(found.files);
	free(found.logs);
	return run;
}

void run_progress(struct run *run, void (*progress)(void *context, uint64_t done, uint64_t all), void *context)
{
	struct run_storage *storage = run->private;

	storage->progress = progress;
	storage->progress_context = context;
}

const char *run_text(struct run *run, const char *text, size_t bytes)
{
	struct run_storage *storage = run->private;
	const char *copy;

	pthread_mutex_lock(&storage->lock);
	copy = pool_text(&storage->pool, text, bytes);
	pthread_mutex_unlock(&storage->lock);
	return copy;
}

int64_t process_ns(const struct process *process, uint64_t ticks)
{
	return clock_ns(process->clock, process->log->header.origin.ticks + ticks);
}

double process_rate(const struct process *process)
{
	uint64_t ticks = process->end_ticks;

	return ticks == 0 ? 1 : (double)(process_ns(process, ticks) - process_ns(process, 0)) / (double)ticks;
}

const struct account *process_account(const struct process *process, const char *allocator)
{
	if (strcmp(allocator, "heap") == 0)
		return &process->heap;
	if (strcmp(allocator, "mmap") == 0)
		return &process->mmap;
	for (size_t i = 0; i < process->account_count; i++)
		if (strcmp(process->accounts[i].allocator, allocator) == 0)
			return &process->accounts[i];
	return NULL;
}

const struct module *process_module(const struct process *process, uint64_t id)
{
	if (id != 0 && id <= process->module_count && process->modules[id - 1].id == id) /* numbered in the order of the facts */
		return &process->modules[id - 1];
	for (size_t i = 0; i < process->module_count; i++)
		if (process->modules[i].id == id)
			return &process->modules[i];
	return NULL;
}

const struct thread *process_thread(const struct process *process, uint32_t serial)
{
	size_t low = 0, high = process->thread_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (process->threads[middle].serial == serial)
			return &process->threads[middle];
		if (process->threads[middle].serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *process_setting(const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->setting_count; i++)
		if (strcmp(process->settings[i].name, name) == 0)
			return process->settings[i].value;
	return "";
}

static bool has_note(const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->note_count; i++)
		if (strcmp(process->notes[i].name, name) == 0)
			return true;
	return false;
}

bool process_is_foreign(const struct process *process)
{
	return has_note(process, "import");
}

bool process_has_strange_devices(const struct process *process)
{
	return has_note(process, "import of devices");
}

bool process_has_failed(const struct process *process)
{
	if (process->end == END_EXIT || process->end == END__EXIT)
		return process->end_status != 0;
	return process->end == END_ABORT || process->end == END_SIGNAL || (process->end == END_UNKNOWN && !process->end_doubt);
}

bool process_has_crashed(const struct process *process)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

	for (size_t i = 0; process->end == END_SIGNAL && i < sizeof(signals) / sizeof(signals[0]); i++)
		if (process->end_status == signals[i])
			return true;
	return process->end == END_ABORT;
}

const char *process_end_text(const struct process *process, char *text, size_t room)
{
	static const char *const texts[] = {[END_UNKNOWN] =
						    ("no word from the process: killed (SIGKILL, SIGSEGV, ...), it ended past libc, "
						    "or its log was copied before"),
					    [END_RUNNING] = "still running",
					    [END_EXIT] = "exit status %d",
					    [END__EXIT] = "exit status %d (_exit)",
					    [END_EXEC] = "replaced by another program (exec)",
					    [END_ABORT] = "abort",
					    [END_SIGNAL] = "killed by signal %d",
					    [END_IMPORTED] = "not told: the file of another profiler says nothing of it"};

	switch (process->end) {
	case END_EXEC:
		if (process->end_doubt != NULL && process->told.pid == process->pid && WIFEXITED(process->told.wait_status))
			snprintf(text, room, "%s, exit status %d", process->end_doubt, WEXITSTATUS(process->told.wait_status));
		else if (process->end_doubt != NULL && process->told.pid == process->pid)
			snprintf(text, room, "%s, killed by signal %d", process->end_doubt, WTERMSIG(process->told.wait_status));
		else
			snprintf(text, room, "%s", process->end_doubt != NULL ? process->end_doubt : texts[END_EXEC]);
		break;
	case END_EXIT:
	case END__EXIT:
		snprintf(text, room, process->end == END_EXIT ? "exit status %d" : "exit status %d (_exit)", process->end_status);
		break;
	case END_SIGNAL:
		snprintf(text, room, "killed by signal %d (%s)", process->end_status, strsignal(process->end_status));
		break;
	default:
		snprintf(text, room, "%s", process->end_doubt != NULL ? process->end_doubt : texts[process->end]);
	}
	return text;
}
