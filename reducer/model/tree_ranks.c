/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of processes that were started apart and are one job; see reducer/model/tree_ranks.h. */
#include "reducer/model/tree_ranks.h"

#include "reducer/base/base.h"
#include "reducer/model/internal.h"
#include "reducer/model/program.h"
#include "reducer/model/rank.h"
#include "reducer/read/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the environment of a log's process says; NULL = not set. */
struct told {
	const struct log *log;
	const struct rank_variables *wanted;
	char *rank, *ranks, *meeting[RANK_MEETINGS];
	bool is_there; /* an environment was told */
};

/* A log that tells a rank of a job of several. */
struct teller {
	size_t log, tree, job; /* job: the first teller of the same one */
	uint64_t rank;
	uint64_t start_ns, end_ns; /* since 1970 */
};

struct tellers {
	struct teller *list;
	char **jobs; /* of each: how many ranks, and where they meet */
	size_t count;
	size_t *joined; /* by tree: one that it is joined with, at last itself */
	bool *is_doubted; /* by tree that others are joined with: two of them tell the same rank */
};

static bool is_named(const struct fact_value *name, const char *wanted)
{
	return wanted && name->length == strlen(wanted) && memcmp(name->text, wanted, name->length) == 0;
}

/* The environment is told at once and early: what comes behind it need not be looked through. */
static int take_variable(void *context, const struct fact *fact)
{
	struct told *told = context;
	const struct schema_record *record = fact->tag < 256 ? told->log->schema->records[fact->tag] : NULL;
	const struct fact_value *name = &fact->values[0], *value = &fact->values[1];

	if (!record || !record->is_fact || strcmp(record->name, "environment") != 0)
		return told->is_there || (record && strcmp(record->name, "module") == 0);
	told->is_there = true;
	if (fact->count < 2 || !name->text || !value->text)
		return 0;
	char **kept = is_named(name, told->wanted->rank) ? &told->rank : is_named(name, told->wanted->ranks) ? &told->ranks : NULL;
	for (size_t i = 0; i < RANK_MEETINGS; i++)
		if (is_named(name, told->wanted->meeting[i]))
			kept = &told->meeting[i];
	if (kept && !*kept)
		*kept = strndup(value->text, value->length);
	return 0;
}

/* "4|10.0.0.1|29500|". NULL where no rank of several is told. */
static char *name_job(const struct told *told, uint64_t *rank)
{
	struct text job = {0};
	uint64_t ranks;

	if (!told->rank || !told->ranks || rank_number(told->rank, rank) != 0 || rank_number(told->ranks, &ranks) != 0 || ranks < 2 ||
	    *rank >= ranks)
		return NULL;
	text_format(&job, "%" PRIu64 "|", ranks);
	for (size_t i = 0; i < RANK_MEETINGS; i++)
		text_format(&job, "%s|", told->meeting[i] ? told->meeting[i] : "");
	return job.bytes;
}

/* Takes over `job`. */
static void add_teller(struct tellers *tellers, struct teller teller, char *job)
{
	struct teller *list = model_room(tellers->list, tellers->count, sizeof(*list));
	char **jobs = model_room(tellers->jobs, tellers->count, sizeof(*jobs));

	tellers->list = list ? list : tellers->list;
	tellers->jobs = jobs ? jobs : tellers->jobs;
	if (!list || !jobs) {
		free(job);
		return;
	}
	for (teller.job = 0; teller.job < tellers->count && strcmp(jobs[teller.job], job) != 0;)
		teller.job++;
	list[tellers->count] = teller;
	jobs[tellers->count++] = job;
}

static void look_at(struct tellers *tellers, const struct log *log, size_t number, size_t tree, const struct rank_variables *wanted)
{
	struct teller teller = {.log = number, .tree = tree, .start_ns = log->header.origin.realtime_ns};
	struct told told = {.log = log, .wanted = wanted};
	char *job;

	log_facts(log, take_variable, &told);
	job = name_job(&told, &teller.rank);
	teller.end_ns = teller.start_ns + program_lasted_ns(log);
	if (job)
		add_teller(tellers, teller, job);
	free(told.rank);
	free(told.ranks);
	for (size_t i = 0; i < RANK_MEETINGS; i++)
		free(told.meeting[i]);
}

/* Whoever lived for the same half of the shorter life: jobs that follow each other meet the next one's first ranks for a moment. */
static bool lived_together(const struct teller *a, const struct teller *b)
{
	uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns, to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
	uint64_t of_a = a->end_ns - a->start_ns, of_b = b->end_ns - b->start_ns;

	return to > from && to - from >= (of_a < of_b ? of_a : of_b) / 2;
}

static size_t joined_with(struct tellers *tellers, size_t tree)
{
	while (tellers->joined[tree] != tree)
		tree = tellers->joined[tree] = tellers->joined[tellers->joined[tree]];
	return tree;
}

static void join_trees(struct tellers *tellers)
{
	for (size_t i = 0; i < tellers->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct teller *a = &tellers->list[i], *b = &tellers->list[k];
			if (a->job == b->job && a->rank != b->rank && a->tree != b->tree && lived_together(a, b))
				tellers->joined[joined_with(tellers, a->tree)] = joined_with(tellers, b->tree);
		}
	for (size_t i = 0; i < tellers->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct teller *a = &tellers->list[i], *b = &tellers->list[k];
			if (a->job == b->job && a->rank == b->rank && a->tree != b->tree &&
			    joined_with(tellers, a->tree) == joined_with(tellers, b->tree))
				tellers->is_doubted[joined_with(tellers, a->tree)] = true;
		}
}

static void tell_joined(struct tellers *tellers, tree_ranks_join *join, void *context)
{
	for (size_t i = 0; i < tellers->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct teller *a = &tellers->list[i], *b = &tellers->list[k];
			if (a->tree == b->tree || joined_with(tellers, a->tree) != joined_with(tellers, b->tree))
				continue;
			if (!tellers->is_doubted[joined_with(tellers, a->tree)])
				join(context, a->log, b->log);
			break; /* the one before is joined with the rest */
		}
}

void tree_ranks(struct log *const *logs, const size_t *trees, size_t count, tree_ranks_join *join, void *context)
{
	for (size_t v = 0; v < RANK_VARIABLES; v++) {
		struct tellers tellers = {.joined = calloc(count + 1, sizeof(*tellers.joined)),
					  .is_doubted = calloc(count + 1, sizeof(*tellers.is_doubted))};

		for (size_t i = 0; i < count && tellers.joined && tellers.is_doubted; i++) {
			tellers.joined[i] = i;
			look_at(&tellers, logs[i], i, trees[i], &rank_variables[v]);
		}
		join_trees(&tellers);
		tell_joined(&tellers, join, context);
		for (size_t i = 0; i < tellers.count; i++)
			free(tellers.jobs[i]);
		free(tellers.jobs);
		free(tellers.list);
		free(tellers.joined);
		free(tellers.is_doubted);
	}
}
