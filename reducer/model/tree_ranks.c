/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of processes that were started apart and are one job; see reducer/model/tree_ranks.h. */
#include "reducer/model/tree_ranks.h"

#include "reducer/base/base.h"
#include "reducer/model/internal.h"
#include "reducer/model/program.h"
#include "reducer/model/rank.h"
#include "reducer/model/tf_config.h"
#include "reducer/read/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the environment of a log's process says, by launcher; NULL = not set. */
struct told {
	const struct log *log;
	struct told_values {
		char *rank, *ranks, *meeting[RANK_MEETINGS];
	} values[RANK_VARIABLES];
	bool is_there; /* an environment was told */
};

/* A log that tells a rank of a job of several. */
struct teller {
	size_t log, tree, job; /* job: the first teller of the same one */
	uint64_t rank;
	uint64_t start_ns, end_ns; /* since 1970 */
};

struct tellers { /* of one launcher's variables */
	struct teller *list;
	char **jobs; /* of each: how many ranks, and where they meet */
	size_t count;
};

static bool is_named(const struct fact_value *name, const char *wanted)
{
	return wanted && name->length == strlen(wanted) && memcmp(name->text, wanted, name->length) == 0;
}

static void keep(char **kept, const struct fact_value *value)
{
	if (!*kept)
		*kept = strndup(value->text, value->length);
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
	for (size_t v = 0; v < RANK_VARIABLES; v++) {
		struct told_values *values = &told->values[v];
		if (is_named(name, rank_variables[v].rank))
			keep(&values->rank, value);
		if (is_named(name, rank_variables[v].ranks))
			keep(&values->ranks, value);
		for (size_t i = 0; i < RANK_MEETINGS; i++)
			if (is_named(name, rank_variables[v].meeting[i]))
				keep(&values->meeting[i], value);
	}
	return 0;
}

/* Each rank's TF_CONFIG names another task; the addresses in it are the same. */
static void put_addresses(const struct rank_variables *variables, struct told_values *values)
{
	struct tf_config config;

	if (!variables->is_tf_config || !values->meeting[0] || tf_config_read(&config, values->meeting[0]) != 0)
		return;
	free(values->meeting[0]);
	values->meeting[0] = strdup(config.addresses.bytes);
	tf_config_free(&config);
}

/* Does the place where ranks meet say nothing beyond one machine? */
static bool is_of_machine(const struct told_values *values)
{
	const char *place = values->meeting[0];

	return !place || !*place || strncmp(place, "127.", 4) == 0 || strncmp(place, "localhost", 9) == 0 || strcmp(place, "::1") == 0;
}

/* "4|10.0.0.1|29500|", with the machine's start where that place is on it. NULL where no rank of several is told. */
static char *name_job(const struct rank_variables *variables, const struct told_values *values, const struct tfp_file_header *header,
		      uint64_t *rank)
{
	struct text job = {0};
	uint64_t ranks;

	if (!values->rank || !values->ranks || rank_read(variables, RANK_OF, values->rank, rank) != 0 ||
	    rank_read(variables, RANK_COUNT, values->ranks, &ranks) != 0 || ranks < 2 || *rank >= ranks)
		return NULL;
	text_format(&job, "%" PRIu64 "|", ranks);
	for (size_t i = 0; i < RANK_MEETINGS; i++)
		text_format(&job, "%s|", values->meeting[i] ? values->meeting[i] : "");
	for (size_t i = 0; i < sizeof(header->boot_id) && is_of_machine(values); i++)
		text_format(&job, "%02x", header->boot_id[i]);
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

/* Adds a log to those that tell, of each launcher that told it a rank. */
static void look_at(struct tellers tellers[RANK_VARIABLES], const struct log *log, size_t number, size_t tree)
{
	struct told told = {.log = log};

	log_facts(log, take_variable, &told);
	for (size_t v = 0; v < RANK_VARIABLES; v++) {
		struct told_values *values = &told.values[v];
		struct teller teller = {.log = number, .tree = tree, .start_ns = log->header.origin.realtime_ns};
		put_addresses(&rank_variables[v], values);
		char *job = name_job(&rank_variables[v], values, &log->header, &teller.rank);
		if (job) {
			teller.end_ns = teller.start_ns + program_lasted_ns(log);
			add_teller(&tellers[v], teller, job);
		}
		free(values->rank);
		free(values->ranks);
		for (size_t i = 0; i < RANK_MEETINGS; i++)
			free(values->meeting[i]);
	}
}

/* Whoever lived for the same half of the shorter life: jobs that follow each other meet the next one's first ranks for a moment. */
static bool lived_together(const struct teller *a, const struct teller *b)
{
	uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns, to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
	uint64_t of_a = a->end_ns - a->start_ns, of_b = b->end_ns - b->start_ns;

	return to > from && to - from >= (of_a < of_b ? of_a : of_b) / 2;
}

static size_t joined_with(size_t *joined, size_t tree)
{
	while (joined[tree] != tree)
		tree = joined[tree] = joined[joined[tree]];
	return tree;
}

/* Of each tree in `joined` one that it is joined with, at last itself. */
static void join_trees(const struct tellers *tellers, size_t *joined)
{
	for (size_t i = 0; i < tellers->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct teller *a = &tellers->list[i], *b = &tellers->list[k];
			if (a->job == b->job && a->rank != b->rank && a->tree != b->tree && lived_together(a, b))
				joined[joined_with(joined, a->tree)] = joined_with(joined, b->tree);
		}
}

/* Sets is_doubted of trees that others are joined with, of which two tell the same rank. */
static void find_doubts(const struct tellers *tellers, size_t *joined, bool *is_doubted)
{
	for (size_t i = 0; i < tellers->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct teller *a = &tellers->list[i], *b = &tellers->list[k];
			if (a->job == b->job && a->rank == b->rank && a->tree != b->tree &&
			    joined_with(joined, a->tree) == joined_with(joined, b->tree))
				is_doubted[joined_with(joined, a->tree)] = true;
		}
}

static void tell_joined(const struct tellers *tellers, size_t *joined, const bool *is_doubted, tree_ranks_join *join, void *context)
{
	for (size_t i = 0; i < tellers->count; i++) {
		size_t of = joined_with(joined, tellers->list[i].tree);
		for (size_t k = 0; k < i && !is_doubted[of]; k++)
			if (joined_with(joined, tellers->list[k].tree) == of) {
				join(context, tellers->list[i].log, tellers->list[k].log);
				break; /* the one before is joined with the rest */
			}
	}
}

void tree_ranks(struct log *const *logs, const size_t *trees, size_t count, tree_ranks_join *join, void *context)
{
	size_t *joined = calloc(count + 1, sizeof(*joined));
	bool *is_doubted = calloc(count + 1, sizeof(*is_doubted));
	struct tellers tellers[RANK_VARIABLES] = {0};

	for (size_t i = 0; i < count && joined && is_doubted; i++)
		look_at(tellers, logs[i], i, trees[i]);
	for (size_t v = 0; v < RANK_VARIABLES; v++) {
		for (size_t i = 0; i < count && tellers[v].count; i++) {
			joined[i] = i;
			is_doubted[i] = false;
		}
		join_trees(&tellers[v], joined);
		find_doubts(&tellers[v], joined, is_doubted);
		tell_joined(&tellers[v], joined, is_doubted, join, context);
		for (size_t i = 0; i < tellers[v].count; i++)
			free(tellers[v].jobs[i]);
		free(tellers[v].jobs);
		free(tellers[v].list);
	}
	free(joined);
	free(is_doubted);
}
