/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules look at: numbers out of the tables of a run, each with the cells that it came from.
 *
 * Rule: a fact is a sum, a count or a greatest value over rows of a table that are chosen by typed cells (facts.def), or is
 * made in facts_own.c of the model; either way it says which rows prove it, so that a reader can look them up. What no table
 * knows is unknown, never 0.
 */
#ifndef REDUCER_RULES_FACTS_H
#define REDUCER_RULES_FACTS_H

#include "reducer/tables/request.h"

#define FACT_LABEL 768 /* bytes of what a row is called, or says; what is longer is cut */
#define PROOF_ROWS 160 /* bytes of a selector; one that is longer is cut at a name's end */

/* How a value comes of the cells that are named. */
enum proof_how { PROOF_SUM, PROOF_ROWS_COUNT, PROOF_DISTINCT, PROOF_MOST, PROOF_FOLLOWS };
const char *proof_how_name(enum proof_how how);

/* Cells that prove something: a column over the rows that a selector chooses. */
struct proof {
	enum proof_how how;
	const char *table, *column; /* ids; column NULL: the rows themselves */
	char rows[PROOF_ROWS];	    /* "kind=HtoD,avg_bytes>=65536"; "" = all */
	double value;
	enum table_unit unit;
};

struct rule_fact {
	bool is_known;
	double value;
	struct proof proof;
	char label[FACT_LABEL]; /* of a greatest value: what its row is called; else "" */
};

enum fact_id {
#define FACT_SUM(name, table, column, rows) FACT_##name,
#define FACT_COUNT(name, table, rows) FACT_##name,
#define FACT_DISTINCT(name, table, column, rows) FACT_##name,
#define FACT_MOST(name, table, column, label, rows) FACT_##name,
#define FACT_OWN(name, help) FACT_##name,
#include "reducer/rules/facts.def"
#undef FACT_SUM
#undef FACT_COUNT
#undef FACT_DISTINCT
#undef FACT_MOST
#undef FACT_OWN
	FACT_COUNT_ALL
};

struct rule_facts {
	int64_t steps_from_ns, steps_to_ns; /* starts of the steps that count: where FACT_step_time_ns is known */
	int64_t steps_end_ns;               /* of the last of them */
	double timed_steps;                 /* how many they are */
	struct rule_fact facts[FACT_COUNT_ALL];
};

/* What the tables and facts_*.c read of the second pass, ended by NULL; facts_gather runs them all in one. */
extern const struct analysis_kind *const facts_analyses[];

/* Tables are made as they are needed, with the request's window and process but without its sorting and cutting. */
void facts_gather(struct rule_facts *facts, const struct request *request);

/* For unit tests and facts_own.c. */
void facts_set(struct rule_facts *facts, enum fact_id id, double value);
bool facts_known(const struct rule_facts *facts, enum fact_id id);
/* 0 where it is unknown. */
double facts_value(const struct rule_facts *facts, enum fact_id id);

/* What is wrong with the rows of facts.def: a table, column or selector that does not exist. NULL = nothing. */
const char *facts_mistake(char *text, size_t room);

/* Facts made of the model; in facts_own.c. */
void facts_gather_own(struct rule_facts *facts, const struct request *request);

#endif
