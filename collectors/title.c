/* SPDX-License-Identifier: Apache-2.0 */
/* Titles of processes; see collectors/title.h. */
#include "collectors/title.h"

#include "collectors/process.h"
#include "collectors/stacks_memory.h"
#include "writer/records.h"
#include "writer/state.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define TITLE_BYTES 128 /* of a title that are told, its zero with them */
#define PAGE 4096

/* Where the first word stands, and its hash: written at start-up, kept across fork. */
static const char *place;
static uint64_t first;

/* The title as it stands now. Its hash; 0: there is none that can be read. */
static uint64_t read_title(char *text)
{
	size_t length = 0;

	for (; length + 1 < TITLE_BYTES; length++) {
		uintptr_t at = (uintptr_t)place + length;
		if ((!length || at % PAGE == 0) && !tfp_stack_memory_can_read(at & ~(uintptr_t)7))
			break;
		if (!(text[length] = place[length]))
			break;
	}
	while (length && text[length - 1] == ' ') /* some fill up with blanks */
		length--;
	text[length] = 0;
	return length ? tfp_hash(TFP_HASH, text, length) : 0;
}

void tfp_title_start(const char *words)
{
	char text[TITLE_BYTES];

	place = words;
	first = words ? read_title(text) : 0;
}

void tfp_title_look(uint64_t now, int is_last)
{
	char text[TITLE_BYTES];

	if (!place || (now < tfp_state->title_next && !is_last))
		return;
	uint64_t title = read_title(text);
	if (!title || title == (tfp_state->title ? tfp_state->title : first))
		return;
	tfp_state->title = title;
	tfp_state->title_next = 2 * now;
	tfp_fact_pair(TFP_TAG_host, "title", text);
}
