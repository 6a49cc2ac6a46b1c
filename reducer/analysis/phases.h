/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which phase of a training step an op or range belongs to, by its name.
 *
 * Rule: what the user names (--phase, or a range called forward, backward, optimizer, communication) wins over what
 * follows from the names that frameworks give. Inside something that has a phase, everything has it.
 */
#ifndef REDUCER_ANALYSIS_PHASES_H
#define REDUCER_ANALYSIS_PHASES_H

#include <regex.h>

enum phase {
	PHASE_NONE,
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_OPTIMISER,
	PHASE_COMMUNICATION,
	PHASES,
	PHASE_INPUT = PHASES /* a batch is fetched: of no pass, and what lies in it is not either; has no sum */
};

/* The user's own names; a phase without a pattern keeps what names say. */
struct phases {
	regex_t patterns[PHASES];
	int has_pattern[PHASES];
};

const char *phase_name(enum phase phase);

/* Gives a phase a pattern (POSIX extended). Returns 0, or an error for regerror of &phases->patterns[phase]. */
int phases_set(struct phases *phases, enum phase phase, const char *pattern);
void phases_free(struct phases *phases);

/* The phase that a range or op begins; PHASE_NONE = that of what it lies in. `source`: row of range_sources.def. */
enum phase phases_of(const struct phases *phases, const char *name, unsigned source, unsigned scope);

/* Whether a kernel of that (mangled) name belongs to a collective operation. */
int phases_is_collective(const char *kernel);

#endif
