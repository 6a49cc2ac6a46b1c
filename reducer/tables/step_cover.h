/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of time in which steps ran, and what a process did beside them.
 *
 * Rule: steps of several threads overlap; time in two of them counts once.
 */
#ifndef REDUCER_TABLES_STEP_COVER_H
#define REDUCER_TABLES_STEP_COVER_H

#include "reducer/tables/step_values.h"

/* From when to when steps of a process ran, in any order; of several threads they overlap. */
struct step_cover {
	struct step_stretch {
		int64_t from_ns, to_ns;
	} * items;
	size_t count, room;
};
/* A step ran from `start_ns` for `ns`; the caller frees cover->items. */
void step_cover_add(struct step_cover *cover, int64_t start_ns, int64_t ns);
/* Sorts them and makes one of those that touch; then whether one went on at a moment. */
void step_cover_unite(struct step_cover *cover);
bool step_cover_has(const struct step_cover *cover, int64_t time_ns);

/*
 * What a process did beside its steps; sorts them. False where that is little of its life, and where windows left a part of it out.
 */
struct step_outside {
	int64_t life, all, before, between, after;
};
bool step_outside(const struct process *process, struct step_cover *cover, struct step_outside *outside);
/* The same of the process whose rows begin at `first`, false where only a part was asked for. *next: where those of another one begin. */
bool step_rows_outside(const struct step_rows *rows, const struct request *request, size_t first, size_t *next,
		       struct step_outside *outside);

#endif
