/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a log's program and how long it lasted. See program.h. */
#include "reducer/model/program.h"

#include "reducer/model/round.h"
#include "reducer/read/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST 12 /* of a command line: a script stands behind a few options */
#define LASTS_MOST_NS (UINT64_C(1) << 58) /* nine years: a machine is not up for longer */

/* Programs that do what a script says; the command begins so (python3.11). */
static const char *const interpreters[] = {"python", "pypy", "perl", "ruby", "node", "julia", "Rscript"};

struct words {
	const struct log *log;
	char word[WORDS_MOST][256]; /* cut: a path that long is told apart by nothing else */
	size_t count;
};

static int take_word(void *context, const struct fact *fact)
{
	struct words *words = context;
	const struct schema_record *record = fact->tag < 256 ? words->log->schema->records[fact->tag] : NULL;
	const struct fact_value *value = &fact->values[1];

	if (record == NULL || !record->is_fact || strcmp(record->name, "argument") != 0 || fact->count < 2 || value->text == NULL)
		return 0;
	snprintf(words->word[words->count++], sizeof words->word[0], "%.*s", (int)(value->length < 255 ? value->length : 255),
		 value->text);
	return words->count == WORDS_MOST;
}

static int is_interpreter(const char *command)
{
	for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
		if (strncmp(command, interpreters[i], strlen(interpreters[i])) == 0)
			return 1;
	return 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

/* The word that names the script, and in *option "-m " or "-c" where that says what it is; NULL = there is none. */
static const char *find_script(const struct words *words, const char **option)
{
	*option = "";
	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->word[i];

		if (strcmp(word, "-m") == 0 && i + 1 < words->count) {
			*option = "-m ";
			return words->word[i + 1];
		}
		if (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0) {
			*option = word;
			return "";
		}
		if (strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0)
			i++; /* the next word is its value */
		else if (word[0] != '-')
			return last_part(word);
	}
	return NULL;
}

const char *program_name(struct pool *pool, const struct log *log)
{
	const char *command = log->header.command, *script = NULL, *option = "";
	size_t length = strnlen(command, sizeof log->header.command);
	struct words *words;
	char name[320];

	command = pool_text(pool, command, length);
	words = is_interpreter(command) ? calloc(1, sizeof *words) : NULL;
	if (words == NULL)
		return command;
	words->log = log;
	log_facts(log, take_word, words);
	script = find_script(words, &option);
	if (script != NULL)
		snprintf(name, sizeof name, "%s %s%s", command, option, script);
	free(words);
	return script == NULL ? command : pool_text(pool, name, strlen(name));
}

uint64_t program_last_ticks(const struct log *log)
{
	uint64_t last = log->live.end_kind == TFP_END_NONE ? 0 : log->live.end_time;

	for (size_t i = 0; i < log->stream_count; i++) {
		size_t count = log->streams[i].count;
		struct log_block block;

		if (count > 0 && log_block_at(log, LOG_PART_OFFSET(&log->streams[i].parts[count - 1]), &block) == 0 &&
		    block.header.last_time > last)
			last = block.header.last_time;
	}
	return log->live.peak_time > last ? log->live.peak_time : last;
}

uint64_t program_waited_ns(const struct log *log, const struct tfp_end_payload *told)
{
	uint64_t origin_ns = log->header.origin.raw_ns, kind = log->live.end_kind, raw_ns = 0;

	if ((kind == TFP_END_NONE || kind == TFP_END_WAITED) && told->pid == log->header.pid)
		raw_ns = told->raw_ns;
	else if (kind == TFP_END_NONE && log->is_running)
		raw_ns = log->opened_raw_ns;
	return raw_ns < origin_ns || raw_ns - origin_ns > LASTS_MOST_NS ? 0 : raw_ns - origin_ns;
}

uint64_t program_lasted_ns(const struct log *log)
{
	struct tfp_end_payload told = {0};
	uint64_t ns = 0, waited;

	if (log->header.clock_hz != 0)
		ns = round_u64((double)program_last_ticks(log) * 1e9 / (double)log->header.clock_hz);
	log_end(log, &told);
	waited = program_waited_ns(log, &told);
	return waited > ns ? waited : ns;
}
