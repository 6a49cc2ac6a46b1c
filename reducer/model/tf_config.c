/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks in TF_CONFIG; see reducer/model/tf_config.h. */
#include "reducer/model/tf_config.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 16 /* values inside one another; the real ones have 3 */
#define WORD_BYTES 256

/* Where we are in the text; NULL = it is not as it should be. */
struct reading {
	const char *at;
};

static bool take(struct reading *reading, char letter)
{
	while (reading->at && *reading->at && strchr(" \t\r\n", *reading->at))
		reading->at++;
	if (!reading->at || *reading->at != letter)
		return false;
	reading->at++;
	return true;
}

static void need(struct reading *reading, char letter)
{
	if (!take(reading, letter))
		reading->at = NULL;
}

/* Into `word` what has room; an escaped letter stands for itself, which names and addresses do not have. */
static void read_word(struct reading *reading, char word[WORD_BYTES])
{
	size_t length = 0;

	need(reading, '"');
	while (reading->at && *reading->at != '"') {
		reading->at += *reading->at == '\\';
		if (!*reading->at) {
			reading->at = NULL;
			break;
		}
		if (length + 1 < WORD_BYTES)
			word[length++] = *reading->at;
		reading->at++;
	}
	word[length] = 0;
	if (reading->at)
		reading->at++;
}

typedef void read_value(struct reading *reading, const char *key, void *context);

static void read_object(struct reading *reading, read_value *value, void *context)
{
	char key[WORD_BYTES];

	need(reading, '{');
	if (!reading->at || take(reading, '}'))
		return;
	do {
		read_word(reading, key);
		need(reading, ':');
		if (reading->at)
			value(reading, key, context);
	} while (take(reading, ','));
	need(reading, '}');
}

/* Any value, passed over. `depth`: how many more it may lie inside one another. */
static void skip_value(struct reading *reading, int depth)
{
	char word[WORD_BYTES];
	bool is_list = take(reading, '['), is_object = !is_list && take(reading, '{');

	if (!depth || !reading->at) {
		reading->at = NULL;
		return;
	}
	if (!is_list && !is_object) {
		if (*reading->at == '"')
			read_word(reading, word);
		else
			reading->at += strcspn(reading->at, ",]} \t\r\n");
		return;
	}
	if (take(reading, is_list ? ']' : '}'))
		return;
	do {
		if (is_object) {
			read_word(reading, word);
			need(reading, ':');
		}
		if (reading->at)
			skip_value(reading, depth - 1);
	} while (take(reading, ','));
	need(reading, is_list ? ']' : '}');
}

enum { CHIEF, WORKER, ROLES };

struct found {
	uint64_t counts[ROLES];
	struct text addresses[ROLES];
	bool has_servers;
	char type[WORD_BYTES];
	uint64_t index;
	bool has_index;
};

static int role_of(const char *name)
{
	if (strcmp(name, "chief") == 0 || strcmp(name, "master") == 0)
		return CHIEF;
	return strcmp(name, "worker") == 0 ? WORKER : ROLES;
}

/* ["a:1", "b:1"] of one role. */
static void read_role(struct reading *reading, const char *key, void *context)
{
	struct found *found = context;
	int role = role_of(key);
	char address[WORD_BYTES];

	if (role == ROLES) {
		struct reading list = *reading;
		found->has_servers |= strcmp(key, "ps") == 0 && !(take(&list, '[') && take(&list, ']')); /* a template's: none */
		skip_value(reading, DEPTH_MOST);
		return;
	}
	need(reading, '[');
	if (!reading->at || take(reading, ']'))
		return;
	do {
		read_word(reading, address);
		found->counts[role]++;
		text_format(&found->addresses[role], "%s,", address);
	} while (take(reading, ','));
	need(reading, ']');
}

static void read_task(struct reading *reading, const char *key, void *context)
{
	struct found *found = context;
	char word[WORD_BYTES], *end;

	if (strcmp(key, "type") == 0 && take(reading, '"')) {
		reading->at--;
		read_word(reading, found->type);
	} else if (strcmp(key, "index") == 0) {
		bool is_text = take(reading, '"'); /* some managers write it so */
		if (!reading->at)
			return;
		reading->at -= is_text;
		if (is_text)
			read_word(reading, word);
		found->index = strtoull(is_text ? word : reading->at, &end, 10);
		found->has_index = reading->at && end != (is_text ? word : reading->at);
		if (!is_text)
			skip_value(reading, DEPTH_MOST);
	} else {
		skip_value(reading, DEPTH_MOST);
	}
}

static void read_part(struct reading *reading, const char *key, void *context)
{
	if (strcmp(key, "cluster") == 0)
		read_object(reading, read_role, context);
	else if (strcmp(key, "task") == 0)
		read_object(reading, read_task, context);
	else
		skip_value(reading, DEPTH_MOST);
}

int tf_config_read(struct tf_config *config, const char *text)
{
	struct reading reading = {text};
	struct found found = {0};

	read_object(&reading, read_part, &found);
	int role = role_of(found.type);
	bool is_rank = reading.at && found.has_index && !found.has_servers && role != ROLES && found.index < found.counts[role];
	*config = (struct tf_config){0};
	if (is_rank) {
		config->rank = found.index + (role == WORKER ? found.counts[CHIEF] : 0);
		config->ranks = found.counts[CHIEF] + found.counts[WORKER];
		for (int i = 0; i < ROLES; i++)
			text_string(&config->addresses, found.addresses[i].bytes ? found.addresses[i].bytes : "");
	}
	for (int i = 0; i < ROLES; i++)
		text_free(&found.addresses[i]);
	return is_rank ? 0 : -1;
}

void tf_config_free(struct tf_config *config)
{
	text_free(&config->addresses);
}
