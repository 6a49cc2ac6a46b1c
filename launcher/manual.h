/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help, manual pages and docs/settings.md, all printed from the same tables: one content, three styles.
 */
#ifndef TFPROF_LAUNCHER_MANUAL_H
#define TFPROF_LAUNCHER_MANUAL_H

#include "launcher/command.h"

struct manual_style {
	const char *name;
	/* begins a page: its name and section for `man`, and one line of what it is */
	void (*title)(const char *name, int section, const char *summary);
	void (*heading)(const char *text);
	void (*paragraph)(const char *text);
	void (*code)(const char *line);
	/* one term and what it means; list_end after the last */
	void (*item)(const char *term, const char *text);
	void (*list_end)(void);
};

/* By name: text, man, markdown; NULL for others. */
const struct manual_style *manual_style(const char *name);

void manual_overview(const struct manual_style *style);
void manual_command(const struct manual_style *style, const struct command *command);
void manual_settings(const struct manual_style *style);

/* Commands and options, fields between tabs: what scripts/completion makes completion for shells of. */
void manual_words(void);

#endif
