/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of facts_*.c share. Private to this folder.
 *
 * Rule: each fact that is set names the table and rows where a reader finds the same.
 */
#ifndef REDUCER_RULES_FACTS_OWN_H
#define REDUCER_RULES_FACTS_OWN_H

#include "reducer/rules/facts.h"

/* Sets a fact with its proof; `rows` is printed with what follows. */
void facts_own(struct rule_facts *facts, enum fact_id id, double value, const char *table, const char *column, const char *rows,
	       ...) __attribute__((format(printf, 6, 7)));

/* What a wanted process did with GPUs; NULL = nothing, or it is not wanted. */
const struct gpu *facts_gpu(const struct request *request, size_t process);

/* Each sets the facts of its subject that no table has; see facts.def. */
void facts_gather_flops(struct rule_facts *facts, const struct request *request);
void facts_gather_libraries(struct rule_facts *facts, const struct request *request);
void facts_gather_steps(struct rule_facts *facts, const struct request *request);
/* After steps, devices and environment; likewise facts_gather_flops. */
void facts_gather_tables(struct rule_facts *facts, const struct request *request);
void facts_gather_delays(struct rule_facts *facts, const struct request *request);
void facts_gather_machine(struct rule_facts *facts, const struct request *request);
void facts_gather_failure(struct rule_facts *facts, const struct request *request);
void facts_gather_python(struct rule_facts *facts, const struct request *request);
void facts_gather_memory(struct rule_facts *facts, const struct request *request);

#endif
