/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recommendations: what to do next, ranked; rules: every rule with what it measured, so that silence can be understood;
 * rule_evidence: the cells that prove a recommendation.
 *
 * Rule: shows findings and judges nothing.
 */
#include "reducer/rules/rule.h"
#include "reducer/tables/standstill.h"

#include <math.h>
#include <string.h>

#define FEW_LOOKED 0.1 /* of the rules; a run with steps of a framework on the host has some 9 of 48 */

enum {
	RANK,
	AREA,
	NAME,
	SEVERITY,
	TITLE,
	REMEDY,
	GAIN,
	GAIN_NS,
	ASSUMPTION,
	MEASURED,
	THRESHOLD,
	UNIT,
	MEASURES,
	OPTION,
	EVIDENCE,
	COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 3, "in the order in which to try them: by area, then by gain"},
	[AREA] = {"area", "area", TABLE_TEXT, UNIT_NONE, 3, "failure, input, one device, precision and compiler, many devices, machine"},
	[NAME] = {"rule", "rule", TABLE_TEXT, UNIT_NONE, 3, "that speaks; docs/rules.md says where it comes from"},
	[SEVERITY] = {"severity", "severity", TABLE_TEXT, UNIT_NONE, 3,
		      "high or moderate, where the rule has a second threshold"},
	[TITLE] = {"finding", "finding", TABLE_TEXT, UNIT_NONE, 0, "what was found"},
	[REMEDY] = {"remedy", "do", TABLE_TEXT, UNIT_NONE, 0, "what to do"},
	[GAIN] = {"gain_share", "gain at most", TABLE_REAL, UNIT_RATIO, 0,
		  "of the time of all steps (without steps: of the run), at most, if the assumption holds; empty = no estimate"},
	[GAIN_NS] = {"gain_ns", "gain time", TABLE_INTEGER, UNIT_NS, 3, "the same in time of this run"},
	[ASSUMPTION] = {"assumption", "if", TABLE_TEXT, UNIT_NONE, 1, "under which the gain is estimated"},
	[MEASURED] = {"measured", "measured", TABLE_REAL, UNIT_NONE, 3, "what the rule compares with its threshold"},
	[THRESHOLD] = {"threshold", "threshold", TABLE_REAL, UNIT_NONE, 3, "from which on it speaks"},
	[UNIT] = {"unit", "unit", TABLE_TEXT, UNIT_NONE, 3, "of both: %, times, bytes; empty = a count"},
	[MEASURES] = {"measures", "measures", TABLE_TEXT, UNIT_NONE, 3, "what that number is"},
	[OPTION] = {"change_with", "threshold", TABLE_TEXT, UNIT_NONE, 2, "option that changes the threshold"},
	[EVIDENCE] = {"evidence", "evidence", TABLE_TEXT, UNIT_NONE, 2,
		      "table[rows].column = value: what to look up; several rows are summed, of a greatest value one is meant"},
};

static void put_text(struct table *table, size_t column, const struct text *text)
{
	if (text->length)
		table_text(table, column, text->bytes, text->length);
}

static void put_numbers(struct table *table, size_t first, const struct finding *finding)
{
	if (finding->is_measured)
		table_real(table, first, finding->measured);
	if (!isinf(finding->threshold))
		table_real(table, first + 1, finding->threshold);
	table_string(table, first + 2, rule_unit_name(finding->rule->unit));
	table_string(table, first + 3, finding->rule->help);
}

static void put_option(struct table *table, size_t column, const struct finding *finding)
{
	struct text text = {0};

	text_format(&text, "--threshold %s=%g", finding->rule->name, rule_limits_default.values[finding->rule->limit]);
	put_text(table, column, &text);
	text_free(&text);
}

static void add_finding(struct table *table, const struct finding *finding, size_t rank)
{
	struct text evidence = {0};

	table_row(table);
	table_integer(table, RANK, (int64_t)rank);
	table_string(table, AREA, rule_area_name(finding->rule->area));
	table_string(table, NAME, finding->rule->name);
	if (finding->can_be_high)
		table_string(table, SEVERITY, finding->is_high ? "high" : "moderate");
	put_text(table, TITLE, &finding->title);
	put_text(table, REMEDY, &finding->remedy);
	if (finding->has_gain) {
		table_real(table, GAIN, finding->gain_share);
		table_integer(table, GAIN_NS, (int64_t)finding->gain_ns);
		table_string(table, ASSUMPTION, finding->assumption);
	}
	put_numbers(table, MEASURED, finding);
	put_option(table, OPTION, finding);
	finding_put_evidence(&evidence, finding);
	put_text(table, EVIDENCE, &evidence);
	text_free(&evidence);
}

/* All: the figures are those of other tables. */
#define RULE_FILTERS                                                                                                             \
	(FILTER_WINDOW | FILTER_PROCESS | FILTER_THREAD | FILTER_ALLOCATOR | FILTER_DEVICE | FILTER_STREAM | FILTER_STEP)

static void note_filters(struct table *table, const struct request *request)
{
	if (request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->has_steps || request->thread || request->device ||
	    request->stream || request->allocator)
		table_note(table, NOTE_INFO,
			   "The rules look at figures of other tables (rule_evidence names them), each with those of the filters that "
			   "its table has: --window, --step, --thread, --device, --stream and --allocator do not hold for all of them.");
}

/* Why nothing is recommended: a job that hangs is not well, though no rule is about it. */
static void note_silence(struct table *table, const struct request *request, size_t blind)
{
	struct text stopped = {0};

	standstill_say(&stopped, request);
	if (stopped.length)
		table_note(table, NOTE_INFO,
			   "No rule speaks, but steps stopped long before the end: -t threads_at_end has where each thread stood.");
	else if ((double)(rule_count - blind) < FEW_LOOKED * (double)rule_count)
		table_note(table, NOTE_INFO, "That nothing was found to mend says little: no more than %zu of %zu rules could look.",
			   rule_count - blind, rule_count);
	else
		table_note(table, NOTE_INFO, "Nothing to mend was found; %zu of %zu rules could look.", rule_count - blind, rule_count);
	text_free(&stopped);
}

static void fill(struct table *table, const struct request *request)
{
	struct findings *findings = findings_make(request);
	size_t blind = 0;

	for (size_t i = 0; i < findings->count; i++)
		add_finding(table, &findings->list[i], i + 1);
	for (size_t i = 0; i < rule_count; i++)
		blind += findings->all[i].state == RULE_BLIND;
	if (blind == rule_count)
		table_note(table, NOTE_INFO,
			   "No rule could look: there are no steps with work of a framework or a GPU in them (-t rules says "
			   "what each lacks).");
	else if (blind)
		table_note(table, NOTE_INFO,
			   "%zu of %zu rules could not look, for want of records or because nothing of the kind was used: "
			   "-t rules says why.",
			   blind, rule_count);
	if (!findings->count && blind < rule_count)
		note_silence(table, request, blind);
	if (facts_known(&findings->facts, FACT_whole_ns))
		table_note(table, NOTE_INFO,
			   "Shares are of the time of %.0f %ss: of more than five the first does not count, nor a last one whose "
			   "end nobody said.",
			   facts_value(&findings->facts, FACT_steps), rule_unit_word(&findings->facts));
	if (findings->count)
		table_note(table, NOTE_INFERRED,
			   "A gain is an upper bound under the assumption beside it; gains of several rows do not add up.");
	note_filters(table, request);
	findings_free(findings);
}

const struct table_kind table_recommendations = {
	.id = "recommendations",
	.is_prose = true,
	.title = "What to do next",
	.help = "What was found to cost time or memory, in the order in which to try it: input, one device, precision and "
		"compiler, many "
		"devices, and what the machine kept from the steps; with remedy, gain and evidence. Empty where all is well.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = RULE_FILTERS,
	.needs_scan = true,
	.analyses = facts_analyses,
	.fill = fill,
};

enum { R_NAME, R_AREA, R_STATE, R_WHY, R_MEASURED, R_THRESHOLD, R_UNIT, R_MEASURES, R_COLUMNS };

static const struct table_column rule_columns[] = {
	[R_NAME] = {"rule", "rule", TABLE_TEXT, UNIT_NONE, 0, "or RULE.NAME, a further threshold of it: what --threshold takes"},
	[R_AREA] = {"area", "area", TABLE_TEXT, UNIT_NONE, 2, "failure, input, one device, precision and compiler, many devices, machine"},
	[R_STATE] = {"state", "state", TABLE_TEXT, UNIT_NONE, 0,
		     "fired, below its threshold, excused, cannot see; empty for a further threshold"},
	[R_WHY] = {"why", "why", TABLE_TEXT, UNIT_NONE, 1, "what speaks against it, or what it lacks"},
	[R_MEASURED] = {"measured", "measured", TABLE_REAL, UNIT_NONE, 0, "empty = it could not measure"},
	[R_THRESHOLD] = {"threshold", "threshold", TABLE_REAL, UNIT_NONE, 0, "in force; empty = off"},
	[R_UNIT] = {"unit", "unit", TABLE_TEXT, UNIT_NONE, 0, "of both: %, times, bytes; empty = a count"},
	[R_MEASURES] = {"measures", "measures", TABLE_TEXT, UNIT_NONE, 1, "what that number is"},
};

static void add_rule(struct table *table, const struct finding *finding)
{
	table_row(table);
	table_string(table, R_NAME, finding->rule->name);
	table_string(table, R_AREA, rule_area_name(finding->rule->area));
	table_string(table, R_STATE, rule_state_name(finding->state));
	table_string(table, R_WHY, finding->why);
	put_numbers(table, R_MEASURED, finding);
	for (size_t i = finding->rule->limit + 1;
	     i < LIMIT_COUNT_ALL && (i == 0 || strchr(rule_limit_name((enum rule_limit)i), '.')); i++) {
		double value = finding->limits->values[i];
		table_row(table);
		table_string(table, R_NAME, rule_limit_name((enum rule_limit)i));
		table_string(table, R_AREA, rule_area_name(finding->rule->area));
		if (!isinf(value))
			table_real(table, R_THRESHOLD, value);
		table_string(table, R_UNIT, rule_unit_name(rule_limit_unit((enum rule_limit)i)));
		table_string(table, R_MEASURES, rule_limit_help((enum rule_limit)i));
	}
}

static void fill_rules(struct table *table, const struct request *request)
{
	struct findings *findings = findings_make(request);

	for (size_t i = 0; i < rule_count; i++)
		add_rule(table, &findings->all[i]);
	note_filters(table, request);
	findings_free(findings);
}

const struct table_kind table_rules = {
	.id = "rules",
	.title = "Rules and thresholds",
	.help = "Every rule of recommendations with what it measured here, its thresholds, and why it is silent.",
	.columns = rule_columns,
	.column_count = R_COLUMNS,
	.filters = RULE_FILTERS,
	.needs_scan = true,
	.analyses = facts_analyses,
	.fill = fill_rules,
};

enum { E_RANK, E_NAME, E_TABLE, E_ROWS, E_COLUMN, E_HOW, E_VALUE, E_UNIT, E_COLUMNS };

static const struct table_column evidence_columns[] = {
	[E_RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "of the recommendation"},
	[E_NAME] = {"rule", "rule", TABLE_TEXT, UNIT_NONE, 0, "that speaks"},
	[E_TABLE] = {"table", "table", TABLE_TEXT, UNIT_NONE, 0, "where to look: -t"},
	[E_ROWS] = {"rows", "rows", TABLE_TEXT, UNIT_NONE, 0,
		    "which: column=value, column>=number, ... joined by commas; empty = all"},
	[E_COLUMN] = {"column", "column", TABLE_TEXT, UNIT_NONE, 0, "of which; empty = the number of rows"},
	[E_HOW] = {"how", "is their", TABLE_TEXT, UNIT_NONE, 0,
		   "sum, greatest, distinct (numbers), rows (their number), follows (is worked out from them)"},
	[E_VALUE] = {"value", "value", TABLE_REAL, UNIT_NONE, 0, "of these cells"},
	[E_UNIT] = {"unit", "unit", TABLE_TEXT, UNIT_NONE, 0, "ns, bytes, count, ratio; empty = none"},
};

static void add_proof(struct table *table, const struct finding *finding, const struct proof *proof, size_t rank)
{
	table_row(table);
	table_integer(table, E_RANK, (int64_t)rank);
	table_string(table, E_NAME, finding->rule->name);
	table_string(table, E_TABLE, proof->table);
	table_string(table, E_ROWS, proof->rows);
	table_string(table, E_COLUMN, proof->column);
	table_string(table, E_HOW, proof_how_name(proof->how));
	table_real(table, E_VALUE, proof->value);
	table_string(table, E_UNIT, table_unit_name(proof->unit));
}

static void fill_evidence(struct table *table, const struct request *request)
{
	struct findings *findings = findings_make(request);

	for (size_t i = 0; i < findings->count; i++)
		for (size_t k = 0; k < findings->list[i].proof_count; k++)
			add_proof(table, &findings->list[i], &findings->list[i].proofs[k], i + 1);
	if (!table->row_count)
		table_note(table, NOTE_INFO, "Nothing is recommended, so there is nothing to prove: -t rules has what each rule measured.");
	note_filters(table, request);
	findings_free(findings);
}

const struct table_kind table_rule_evidence = {
	.id = "rule_evidence",
	.title = "Evidence of recommendations",
	.help = "Which cells of which tables prove each recommendation.",
	.columns = evidence_columns,
	.column_count = E_COLUMNS,
	.filters = RULE_FILTERS,
	.needs_scan = true,
	.analyses = facts_analyses,
	.fill = fill_evidence,
};
