/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which logs form a run, and who is whose parent.
 *
 * Rule: logs that share a job id, of which one names the other as its parent, or which tell ranks of one job, are one run. Two runs
 * are never mixed: the newest is taken unless one is named; one that ran within the life of another is not the newest.
 */
#include "reducer/model/internal.h"
#include "reducer/model/program.h"
#include "reducer/model/round.h"
#include "reducer/model/tree_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree {
	struct log **logs; /* by start */
	size_t count;
	size_t *group;     /* index of the first log of the same run */
	size_t *starts;    /* the same without what ranks told: what one start of a program began */
	size_t *parents, *exec_before;
};

static int is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return 0;
	return 1;
}

static int same_machine(const struct tfp_file_header *a, const struct tfp_file_header *b)
{
	return memcmp(a->boot_id, b->boot_id, sizeof a->boot_id) == 0 && a->pid_namespace == b->pid_namespace;
}

/* The same process id at the same start time: one is the image that the other replaced by exec. */
static int same_process(const struct tfp_file_header *a, const struct tfp_file_header *b)
{
	return same_machine(a, b) && a->pid == b->pid && a->process_start == b->process_start && a->process_start != 0;
}

static int is_parent(const struct tfp_file_header *child, const struct tfp_file_header *parent)
{
	if (child->parent_log_id != 0)
		return child->parent_log_id == parent->log_id;
	return same_machine(child, parent) && child->parent_pid == parent->pid &&
	       child->parent_start == parent->process_start && child->parent_start != 0;
}

/*
 * Without /proc a process cannot know when it began, and in a time namespace, which an exec enters, it began at another time: then the
 * image before has told it that it is the next.
 */
static int is_next_image(const struct tfp_file_header *image, const struct tfp_file_header *before)
{
	if (same_process(image, before))
		return 1;
	return (image->process_start == 0 || before->process_start == 0 || image->exec_count == before->exec_count + 1) &&
	       image->pid == before->pid &&
	       (image->pid_namespace == before->pid_namespace || image->pid_namespace == 0 || before->pid_namespace == 0) &&
	       (image->flags & TFP_FILE_FORKED) == 0 && image->parent_log_id == before->log_id && image->parent_log_id != 0;
}

static int same_job(const struct tfp_file_header *a, const struct tfp_file_header *b)
{
	return !is_zero(a->job_id, sizeof a->job_id) && memcmp(a->job_id, b->job_id, sizeof a->job_id) == 0;
}

static int by_start(const void *a, const void *b)
{
	const struct log *left = *(struct log *const *)a, *right = *(struct log *const *)b;
	uint64_t left_ns = left->header.origin.realtime_ns, right_ns = right->header.origin.realtime_ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return left->header.log_id < right->header.log_id ? -1 : left->header.log_id > right->header.log_id;
}

static size_t group_of(struct tree *tree, size_t i)
{
	while (tree->group[i] != i)
		i = tree->group[i] = tree->group[tree->group[i]];
	return i;
}

static void join(struct tree *tree, size_t a, size_t b)
{
	size_t left = group_of(tree, a), right = group_of(tree, b);

	if (left < right)
		tree->group[right] = left;
	else
		tree->group[left] = right;
}

/* An earlier log is nearer to the truth the later it began: pids are used again, images replaced more than once. */
static void link_log(struct tree *tree, size_t i)
{
	const struct tfp_file_header *header = &tree->logs[i]->header;

	for (size_t k = i; k-- > 0;) {
		const struct tfp_file_header *other = &tree->logs[k]->header;

		int is_image = is_next_image(header, other);

		if (is_image && tree->exec_before[i] == PROCESS_NONE)
			tree->exec_before[i] = k;
		else if (is_parent(header, other) && !is_image && tree->parents[i] == PROCESS_NONE)
			tree->parents[i] = k;
		if (is_image || is_parent(header, other) || same_job(header, other))
			join(tree, i, k);
	}
	if (tree->parents[i] == PROCESS_NONE && tree->exec_before[i] != PROCESS_NONE)
		tree->parents[i] = tree->parents[tree->exec_before[i]];
}

static void join_ranks(void *context, size_t log, size_t other)
{
	struct tree *tree = context;

	join(tree, log, other);
}

/* Joins trees that were started apart as ranks of one job; tree->starts keeps what was a tree before. Returns -1 without memory. */
static int join_jobs(struct tree *tree)
{
	size_t trees = 0;

	tree->starts = calloc(tree->count + 1, sizeof *tree->starts);
	if (tree->starts == NULL)
		return -1;
	for (size_t i = 0; i < tree->count; i++) {
		tree->starts[i] = group_of(tree, i);
		trees += tree->starts[i] == i;
	}
	if (trees > 1)
		tree_ranks(tree->logs, tree->starts, tree->count, join_ranks, tree);
	return 0;
}

static void name_run(const struct tfp_file_header *header, char name[17])
{
	uint64_t number;

	memcpy(&number, header->job_id, sizeof number);
	if (number == 0)
		number = header->log_id;
	snprintf(name, 17, "%016" PRIx64, number);
}

/* When the process of a log ended, ns since 1970; 0 when the log does not say. */
static uint64_t end_realtime_ns(const struct log *log)
{
	const struct tfp_file_header *header = &log->header;

	if (log->live.end_kind == TFP_END_NONE || log->live.end_time == 0 || header->clock_hz == 0)
		return 0;
	return header->origin.realtime_ns + round_u64((double)log->live.end_time * 1e9 / (double)header->clock_hz);
}

/* Did the run of log `i` begin and end while the first process of another one lived? Then that one most likely started it
 * through a program that keeps no log and hands no job id on (system() and popen() do so by the shell). */
static int is_within_another(struct tree *tree, size_t i)
{
	const struct tfp_file_header *header = &tree->logs[i]->header;

	for (size_t k = 0; k < i; k++)
		if (group_of(tree, k) == k && same_machine(&tree->logs[k]->header, header) &&
		    end_realtime_ns(tree->logs[k]) > header->origin.realtime_ns &&
		    end_realtime_ns(tree->logs[k]) >= end_realtime_ns(tree->logs[i]))
			return 1;
	return 0;
}

/* The group to take: that of the name, or the newest that is not within another; the count when no run has the name.
 * "all" takes everything. */
static size_t choose_group(struct tree *tree, const char *name)
{
	char of_group[17];
	size_t chosen = tree->count;

	for (size_t i = 0; i < tree->count; i++) {
		if (tree->starts[i] != i)
			continue;
		name_run(&tree->logs[i]->header, of_group);
		if (name != NULL ? (*name != 0 && strncmp(of_group, name, strlen(name)) == 0) :
				   group_of(tree, i) == i && !is_within_another(tree, i))
			chosen = group_of(tree, i);
	}
	return chosen;
}

static int is_root(struct tree *tree, size_t group, size_t i)
{
	return group_of(tree, i) == group && tree->parents[i] == PROCESS_NONE;
}

/* The log of the group that run_main would name, as far as can be told without a scan: who used a GPU cannot. */
static const struct log *main_log(struct tree *tree, size_t group)
{
	uint64_t longest = 0;
	size_t roots = 0;

	for (size_t i = group; i < tree->count; i++)
		roots += (size_t)is_root(tree, group, i);
	for (size_t i = group; roots > 1 && i < tree->count; i++)
		if (is_root(tree, group, i) && program_lasted_ns(tree->logs[i]) > longest)
			longest = program_lasted_ns(tree->logs[i]);
	for (size_t i = group; roots > 1 && i < tree->count; i++)
		if (is_root(tree, group, i) && program_lasted_ns(tree->logs[i]) >= longest / 2)
			return tree->logs[i];
	return tree->logs[group];
}

static void list_other(struct tree *tree, struct pool *pool, size_t group, struct run *run)
{
	struct run_brief *others = model_room(run->others, run->other_count, sizeof *others), *other;
	const struct tfp_file_header *header = &tree->logs[group]->header;

	if (others == NULL)
		return;
	run->others = others;
	other = &others[run->other_count++];
	name_run(header, other->name);
	other->realtime_ns = (int64_t)header->origin.realtime_ns;
	other->program = program_name(pool, main_log(tree, group));
	for (size_t i = group; i < tree->count; i++)
		other->process_count += group_of(tree, i) == group;
}

/* Moves the logs of the chosen group to the front and closes the rest; indexes follow. */
static size_t keep(struct tree *tree, size_t group, int is_all)
{
	size_t *place = calloc(tree->count + 1, sizeof *place), kept = 0;

	if (place == NULL)
		return 0;
	for (size_t i = 0; i < tree->count; i++) {
		place[i] = PROCESS_NONE;
		if (!is_all && group_of(tree, i) != group) {
			log_close(tree->logs[i]);
			continue;
		}
		place[i] = kept;
		tree->logs[kept] = tree->logs[i];
		tree->parents[kept] = tree->parents[i] == PROCESS_NONE ? PROCESS_NONE : place[tree->parents[i]];
		tree->exec_before[kept] = tree->exec_before[i] == PROCESS_NONE ? PROCESS_NONE : place[tree->exec_before[i]];
		kept++;
	}
	free(place);
	return kept;
}

static int find_run(struct tree *tree, const char *name, struct run *run)
{
	struct run_storage *storage = run->private;
	int is_all = name != NULL && strcmp(name, "all") == 0;
	size_t group = is_all ? 0 : choose_group(tree, name);

	if (group == tree->count) {
		diag_add(run->diags, DIAG_FATAL, name, DIAG_NO_OFFSET, "without --run the newest run is taken and the others listed",
			 "no run has this name");
		return -1;
	}
	name_run(&tree->logs[group]->header, run->name);
	run->first_log_id = tree->logs[group]->header.log_id;
	run->realtime_ns = (int64_t)tree->logs[group]->header.origin.realtime_ns;
	run->utc_offset_s = tree->logs[group]->header.utc_offset_s;
	run->program = program_name(&storage->pool, main_log(tree, group));
	for (size_t i = tree->count; !is_all && i-- > 0;)
		if (group_of(tree, i) == i && i != group)
			list_other(tree, &storage->pool, i, run);
	for (size_t i = group; !is_all && i < tree->count; i++)
		run->start_count += tree->starts[i] == i && group_of(tree, i) == group;
	tree->count = keep(tree, group, is_all);
	return tree->count == 0 ? -1 : 0;
}

/* Whether two files are of one log: its header is written once and holds the log's own random number. */
static int is_copy(const struct log *a, const struct log *b)
{
	return memcmp(&a->header, &b->header, sizeof a->header) == 0;
}

size_t tree_drop_copies(struct log **logs, size_t count, struct diag_list *diags)
{
	size_t kept = 0;

	if (count > 0) /* logs is NULL else */
		qsort(logs, count, sizeof *logs, by_start);
	for (size_t i = 0; i < count; i++) {
		struct log *less;

		if (kept == 0 || !is_copy(logs[kept - 1], logs[i])) {
			logs[kept++] = logs[i];
			continue;
		}
		less = logs[i];
		if (less->bytes > logs[kept - 1]->bytes) {
			less = logs[kept - 1];
			logs[kept - 1] = logs[i];
		}
		diag_forget(diags, less->path);
		diag_add(diags, DIAG_NOTE, less->path, DIAG_NO_OFFSET, "", "the same log as %s: counted once", logs[kept - 1]->path);
		log_close(less);
	}
	return kept;
}

int tree_choose(struct log **logs, size_t count, const char *name, struct run *run, struct tree_choice *choice)
{
	struct tree tree = {.logs = logs, .count = count};
	int result = -1;

	tree.group = calloc(count + 1, sizeof *tree.group);
	tree.parents = calloc(count + 1, sizeof *tree.parents);
	tree.exec_before = calloc(count + 1, sizeof *tree.exec_before);
	if (tree.group != NULL && tree.parents != NULL && tree.exec_before != NULL) {
		if (count > 0)
			qsort(logs, count, sizeof *logs, by_start);
		for (size_t i = 0; i < count; i++) {
			tree.group[i] = i;
			tree.parents[i] = tree.exec_before[i] = PROCESS_NONE;
			link_log(&tree, i);
		}
		result = join_jobs(&tree) != 0 ? -1 : find_run(&tree, name, run);
	}
	free(tree.group);
	free(tree.starts);
	if (result != 0) {
		free(tree.parents);
		free(tree.exec_before);
		return -1;
	}
	*choice = (struct tree_choice){logs, tree.parents, tree.exec_before, tree.count};
	return 0;
}

static int64_t lasted(const struct process *process)
{
	return process->start_ns == TIME_UNKNOWN || process->end_ns == TIME_UNKNOWN ? 0 : process->gone_ns - process->start_ns;
}

const struct process *run_main(const struct run *run)
{
	int64_t longest = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (process->gpu != NULL)
			return process;
		if (process->parent == PROCESS_NONE && lasted(process) > longest)
			longest = lasted(process);
	}
	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].parent == PROCESS_NONE && lasted(&run->processes[i]) >= longest / 2)
			return &run->processes[i];
	return &run->processes[0];
}
