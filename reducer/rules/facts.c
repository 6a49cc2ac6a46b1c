/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers the facts of facts.def. See facts.h.
 *
 * Rule: knows no rule and no table by name; each table is made once and let go.
 */
#include "reducer/rules/facts.h"

#include "reducer/rules/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum way { WAY_SUM = PROOF_SUM, WAY_COUNT = PROOF_ROWS_COUNT, WAY_DISTINCT = PROOF_DISTINCT, WAY_MOST = PROOF_MOST, WAY_OWN };

struct fact_row {
	enum way way;
	const char *name, *table, *column, *label, *rows;
};

static const struct fact_row fact_rows[FACT_COUNT_ALL] = {
#define FACT_SUM(name, table, column, rows) [FACT_##name] = {WAY_SUM, #name, table, column, NULL, rows},
#define FACT_COUNT(name, table, rows) [FACT_##name] = {WAY_COUNT, #name, table, NULL, NULL, rows},
#define FACT_DISTINCT(name, table, column, rows) [FACT_##name] = {WAY_DISTINCT, #name, table, column, NULL, rows},
#define FACT_MOST(name, table, column, label, rows) [FACT_##name] = {WAY_MOST, #name, table, column, label, rows},
#define FACT_OWN(name, help) [FACT_##name] = {WAY_OWN, #name, NULL, NULL, NULL, NULL},
#include "reducer/rules/facts.def"
#undef FACT_SUM
#undef FACT_COUNT
#undef FACT_DISTINCT
#undef FACT_MOST
#undef FACT_OWN
};

void facts_set(struct rule_facts *facts, enum fact_id id, double value)
{
	facts->facts[id].is_known = true;
	facts->facts[id].value = value;
	facts->facts[id].proof.value = value;
	if (facts->facts[id].proof.table)
		return;
	facts->facts[id].proof.table = fact_rows[id].table ? fact_rows[id].table : "";
	facts->facts[id].proof.column = fact_rows[id].column;
	facts->facts[id].proof.how = fact_rows[id].way == WAY_OWN ? PROOF_FOLLOWS : (enum proof_how)fact_rows[id].way;
	snprintf(facts->facts[id].proof.rows, PROOF_ROWS, "%s", fact_rows[id].rows ? fact_rows[id].rows : "");
}

const char *proof_how_name(enum proof_how how)
{
	static const char *const names[] = {"sum", "rows", "distinct", "greatest", "follows"};

	return names[how];
}

bool facts_known(const struct rule_facts *facts, enum fact_id id)
{
	return facts->facts[id].is_known;
}

double facts_value(const struct rule_facts *facts, enum fact_id id)
{
	return facts->facts[id].is_known ? facts->facts[id].value : 0;
}

static const struct table_kind *kind_of(const char *id)
{
	for (size_t i = 0; i < table_kind_count; i++)
		if (strcmp(table_kinds[i]->id, id) == 0)
			return table_kinds[i];
	return NULL;
}

const char *facts_mistake(char *text, size_t room)
{
	struct selector selector;

	for (size_t i = 0; i < FACT_COUNT_ALL; i++) {
		const struct fact_row *row = &fact_rows[i];
		const struct table_kind *kind = row->table ? kind_of(row->table) : NULL;
		const char *wrong = NULL;
		if (row->way == WAY_OWN)
			continue;
		if (!kind)
			wrong = "has no such table";
		else if (row->column && table_find_column(kind, row->column) == SIZE_MAX)
			wrong = "has no such column";
		else if (row->label && table_find_column(kind, row->label) == SIZE_MAX)
			wrong = "has no column for its label";
		else if (!select_parse(&selector, kind, row->rows))
			wrong = "has a selector that cannot be read";
		if (!wrong)
			continue;
		snprintf(text, room, "fact %s (%s) %s", row->name, row->table, wrong);
		return text;
	}
	return NULL;
}

/* How many different values a column has: few, so a search through those seen will do. */
struct seen {
	double *list;
	size_t count, room;
};

static void see(struct seen *seen, double value)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->list[i] == value)
			return;
	seen->list = base_grow(seen->list, &seen->room, seen->count + 1, sizeof(*seen->list));
	seen->list[seen->count++] = value;
}

static void put_label(struct rule_fact *fact, const struct fact_row *row, const struct table *table, size_t at)
{
	size_t column = table_find_column(table->kind, row->label), length = 0;
	const char *text;

	if (column == SIZE_MAX || !table_is_known(table, at, column))
		return;
	if (table->kind->columns[column].type == TABLE_TEXT) {
		text = table_get_text(table, at, column, &length);
		snprintf(fact->label, sizeof(fact->label), "%.*s",
			 (int)(length < sizeof(fact->label) ? length : sizeof(fact->label) - 1), text);
	} else {
		snprintf(fact->label, sizeof(fact->label), "%.0f", table_get_number(table, at, column));
	}
}

/* The greatest cell of the chosen rows, with its row's name. */
static void take_most(struct rule_fact *fact, const struct fact_row *row, const struct table *table,
		      const struct selector *selector)
{
	size_t column = table_find_column(table->kind, row->column), best = SIZE_MAX;

	for (size_t i = 0; i < table->shown_count; i++)
		if (select_takes(selector, table, i) && table_is_known(table, i, column) &&
		    (best == SIZE_MAX || table_get_number(table, i, column) > table_get_number(table, best, column)))
			best = i;
	if (best == SIZE_MAX)
		return;
	fact->is_known = true;
	fact->value = table_get_number(table, best, column);
	put_label(fact, row, table, best);
}

static void take_rows(struct rule_fact *fact, const struct fact_row *row, const struct table *table,
		      const struct selector *selector)
{
	size_t column = row->column ? table_find_column(table->kind, row->column) : SIZE_MAX;
	struct seen seen = {0};
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < table->shown_count; i++) {
		if (!select_takes(selector, table, i) || (row->column && !table_is_known(table, i, column)))
			continue;
		count++;
		if (row->way == WAY_SUM)
			sum += table_get_number(table, i, column);
		else if (row->way == WAY_DISTINCT)
			see(&seen, table_get_number(table, i, column));
	}
	/* A table without rows knows nothing; one with rows, none of which is chosen, knows that there are none. */
	fact->is_known = table->shown_count > 0 && (count > 0 || row->way != WAY_SUM || *row->rows);
	fact->value = row->way == WAY_SUM ? sum : row->way == WAY_COUNT ? (double)count : (double)seen.count;
	free(seen.list);
}

static void take(struct rule_facts *facts, size_t i, const struct table *table)
{
	const struct fact_row *row = &fact_rows[i];
	struct rule_fact *fact = &facts->facts[i];
	struct selector selector;

	if (!select_parse(&selector, table->kind, row->rows))
		return;
	if (row->way == WAY_MOST)
		take_most(fact, row, table, &selector);
	else
		take_rows(fact, row, table, &selector);
	if (row->column && table_find_column(table->kind, row->column) != SIZE_MAX)
		fact->proof.unit = table->kind->columns[table_find_column(table->kind, row->column)].unit;
	if (fact->is_known)
		facts_set(facts, (enum fact_id)i, fact->value);
}

const struct analysis_kind *const facts_analyses[] = {
	&analysis_steps,    &analysis_steady,	 &analysis_work, &analysis_flops, &analysis_holdings,
	&analysis_loading, &analysis_pipelines, &analysis_rare_work, NULL};

void facts_gather(struct rule_facts *facts, const struct request *request)
{
	struct request plain = *request;

	*facts = (struct rule_facts){0};
	plain.name = NULL;
	plain.sort = NULL;
	plain.top = SIZE_MAX;
	plain.is_top_given = plain.is_text = false;
	if (plain.analyses)
		analyses_add(plain.analyses, facts_analyses, sizeof(facts_analyses) / sizeof(facts_analyses[0]) - 1);
	for (size_t i = 0; i < FACT_COUNT_ALL; i++) {
		const struct table_kind *kind = fact_rows[i].table ? kind_of(fact_rows[i].table) : NULL;
		struct table *table;
		bool is_made = !kind;
		for (size_t k = 0; k < i && !is_made; k++)
			is_made = fact_rows[k].table && strcmp(fact_rows[k].table, fact_rows[i].table) == 0;
		if (is_made)
			continue;
		table = tables_make(kind, &plain);
		for (size_t k = i; k < FACT_COUNT_ALL; k++)
			if (fact_rows[k].table && strcmp(fact_rows[k].table, kind->id) == 0)
				take(facts, k, table);
		table_free(table);
	}
	facts_gather_own(facts, &plain);
}
