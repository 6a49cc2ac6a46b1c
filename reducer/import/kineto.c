/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto's JSON (torch.profiler's export_chrome_trace), and Chrome traces of others: one object an event, in any order.
 *
 * Rule: read as a stream, an event at a time. What an event is, its category says; of one that we do not know the name and
 * the times are kept as a range. docs/foreign.md lists the categories.
 */
#include "reducer/import/kineto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_LEAST_NS INT64_C(100000000000000000) /* 1973: times are absolute */
#define RELATIVE_NS INT64_C(1000000000000000) /* where a file's 0 is put: 11 days, for some count from the middle of what they tell */
#define LATEST_NS (INT64_C(1) << 61)

/* What is kept of an event's texts and numbers: kineto_keys.def. */
static const struct {
	const char *name;
	size_t length;
	int is_text;
} keys[] = {
#define KINETO_TEXT(symbol, name) [KINETO_##symbol] = {name, sizeof(name) - 1, 1},
#define KINETO_NUMBER(symbol, name, digits) [KINETO_##symbol] = {name, sizeof(name) - 1, 0},
#include "reducer/import/kineto_keys.def"
#undef KINETO_TEXT
#undef KINETO_NUMBER
};

static const uint8_t digits_of[] = {
#define KINETO_TEXT(symbol, name) [KINETO_##symbol] = 0,
#define KINETO_NUMBER(symbol, name, digits) [KINETO_##symbol] = digits,
#include "reducer/import/kineto_keys.def"
#undef KINETO_TEXT
#undef KINETO_NUMBER
};

static unsigned slot_of(const char *name, size_t length)
{
	unsigned first = (unsigned char)name[0], middle = (unsigned char)name[length / 2], last = (unsigned char)name[length - 1];

	return (unsigned)length * 37 + first * 5 + middle * 3 + last;
}

/* Which place in key_of a key has: the first that is free from its hash on. */
static void index_keys(struct kineto *kineto)
{
	for (unsigned i = 0; i < KINETO_KEYS; i++) {
		unsigned slot = slot_of(keys[i].name, keys[i].length);
		while (kineto->key_of[slot % KINETO_KEY_SLOTS])
			slot++;
		kineto->key_of[slot % KINETO_KEY_SLOTS] = (uint8_t)(i + 1);
	}
}

static unsigned key_of(const struct kineto *kineto)
{
	const struct json *json = &kineto->json;
	unsigned slot = json->length ? slot_of(json->word, json->length) : 0, key;

	if (!json->length)
		return KINETO_KEYS;
	for (; (key = kineto->key_of[slot % KINETO_KEY_SLOTS]) != 0; slot++)
		if (json_is(json, keys[key - 1].name, keys[key - 1].length))
			return key - 1;
	return KINETO_KEYS;
}

/* A list of numbers (grid, block); what comes after the third is stepped over. */
static void take_three(struct json *json, uint64_t three[3])
{
	enum json_word word;

	for (size_t i = 0; (word = json_next(json)) != JSON_ARRAY_END && word > JSON_BAD; i++) {
		if (word == JSON_NUMBER && i < 3)
			three[i] = (uint64_t)json_integer(json, 0);
		else
			json_skip(json, word);
	}
}

/* A time that is no number must not pass for 0, nor for one that is not there. */
static int is_bad_time(const struct json *json, unsigned key, enum json_word word)
{
	if (key != KINETO_TS && key != KINETO_DUR)
		return 0;
	return (word != JSON_STRING && word != JSON_NUMBER) || !json_is_number(json);
}

/* Gives the room of a text back, which each has once. */
static void drop_text(struct kineto *kineto, struct kineto_event *event, unsigned key)
{
	size_t from = event->values[key].text, end = kineto->texts_used;

	for (unsigned i = 0; i < KINETO_KEYS; i++)
		if (keys[i].is_text && kineto_has(event, i) && event->values[i].text > from && event->values[i].text < end)
			end = event->values[i].text;
	memmove(kineto->texts + from, kineto->texts + end, kineto->texts_used - end);
	kineto->texts_used -= end - from;
	for (unsigned i = 0; i < KINETO_KEYS; i++)
		if (keys[i].is_text && kineto_has(event, i) && event->values[i].text > from)
			event->values[i].text -= end - from;
}

/* A text of the event. Of two of a name the last, as of numbers, and as readers of JSON have it. */
static void take_text(struct kineto *kineto, struct kineto_event *event, unsigned key)
{
	const struct json *json = &kineto->json;

	if (kineto_has(event, key))
		drop_text(kineto, event, key);
	event->has |= UINT64_C(1) << key;
	event->values[key].text = kineto->texts_used;
	memcpy(kineto->texts + kineto->texts_used, json->word, json->length);
	kineto->texts[kineto->texts_used + json->length] = 0;
	kineto->texts_used += json->length + 1;
}

static void set_number(struct kineto_event *event, unsigned key, int64_t number)
{
	event->has |= UINT64_C(1) << key;
	event->values[key].number = number;
}

static void take_rest(const struct json *json, struct kineto_event *event, unsigned key)
{
	if (key == KINETO_TS)
		event->begin_rest = json_rest(json, digits_of[key]);
	else if (key == KINETO_DUR)
		event->duration_rest = json_rest(json, digits_of[key]);
}

static void take_value(struct kineto *kineto, struct kineto_event *event, unsigned key, enum json_word word)
{
	struct json *json = &kineto->json;

	if (word == JSON_ARRAY && (key == KINETO_GRID || key == KINETO_BLOCK)) {
		take_three(json, key == KINETO_GRID ? event->grid : event->block);
	} else if (word == JSON_ARRAY && key >= KINETO_OLD_DIMENSIONS && key <= KINETO_INPUTS) {
		kineto_take_inputs(kineto, key == KINETO_OLD_DIMENSIONS ? KINETO_DIMENSIONS : key);
	} else if (is_bad_time(json, key, word)) {
		set_number(event, key, INT64_MIN); /* set_times refuses it */
		json_skip(json, word);
	} else if (key >= KINETO_KEYS || (word != JSON_STRING && word != JSON_NUMBER)) {
		json_skip(json, word);
	} else if (keys[key].is_text) {
		take_text(kineto, event, key);
	} else {
		set_number(event, key, json_integer(json, digits_of[key]));
		take_rest(json, event, key);
	}
}

/* What a name means among the args: never what it means of the event, before or behind which they may stand. */
static unsigned key_of_args(unsigned key)
{
	if (key == KINETO_NAME)
		return KINETO_LABELS; /* {"name": "process_name", "args": {"name": "/device:TPU:0"}} */
	return key < KINETO_LABELS || key == KINETO_TS || key == KINETO_DUR ? KINETO_KEYS : key;
}

/* The members of an event, or of its args. Behind '{'. */
static void take_members(struct kineto *kineto, struct kineto_event *event, int is_args)
{
	struct json *json = &kineto->json;
	enum json_word word;

	while ((word = json_next(json)) == JSON_KEY) {
		unsigned key = is_args ? key_of_args(key_of(kineto)) : key_of(kineto);
		int has_args = !is_args && json_is(json, "args", 4);
		word = json_next(json);
		if (has_args && word == JSON_OBJECT)
			take_members(kineto, event, 1);
		else
			take_value(kineto, event, key, word);
	}
}

/* An empty event. */
static void begin_event(struct kineto *kineto, struct kineto_event *event)
{
	event->has = 0;
	event->begin_rest = event->duration_rest = 0;
	memset(event->grid, 0, sizeof(event->grid));
	memset(event->block, 0, sizeof(event->block));
	kineto->texts_used = 0;
	for (size_t i = 0; i < sizeof(kineto->inputs) / sizeof(kineto->inputs[0]); i++)
		text_clear(&kineto->inputs[i]);
}

/* Millionths of ns to whole ones. */
static int64_t rounded(int64_t rest)
{
	return (rest + 2500000) / 1000000 - 2; /* never of a number below 0, which C would round up */
}

/*
 * ts is in microseconds with decimals; relative to baseTimeNanoseconds where the file says that. Begin and end are rounded, not begin and
 * duration: of two that end together the sums would else end apart, and one overlap the other.
 */
static int set_times(struct kineto *kineto, struct kineto_event *event)
{
	int64_t begin = kineto_number(event, KINETO_TS), duration = kineto_number(event, KINETO_DUR), up = rounded(event->begin_rest);

	if (!kineto_has(event, KINETO_TS) || begin < -EPOCH_LEAST_NS)
		return -1;
	begin += up;
	if (duration >= 0 && duration < LATEST_NS)
		duration += rounded(event->begin_rest + event->duration_rest) - up;
	if (begin < EPOCH_LEAST_NS)
		begin += kineto->base_ns ? kineto->base_ns : RELATIVE_NS;
	if (begin < 0 || begin > LATEST_NS || duration < 0 || !sink_has_place(kineto->sink, (uint64_t)begin, (uint64_t)duration))
		return -1;
	event->begin_ns = (uint64_t)begin;
	event->duration_ns = (uint64_t)duration;
	return 0;
}

static void take_event(struct kineto *kineto)
{
	struct kineto_event event;

	begin_event(kineto, &event);
	take_members(kineto, &event, 0);
	if (kineto->json.is_bad) /* half of it is no event: what is missing would count as none and as 0 */
		return;
	const char *phase = kineto_text(kineto, &event, KINETO_PH);
	if (strcmp(phase, "M") == 0)
		kineto_label(kineto, &event);
	if (!phase[0] || phase[1] || !strchr("XiBE", phase[0])) {
		if (phase[0] && !phase[1])
			kineto->phases[phase[0] & 127]++;
		return;
	}
	if (set_times(kineto, &event) != 0) {
		kineto->out_of_time++;
		return;
	}
	kineto->event_count++;
	kineto->durationless += phase[0] == 'X' && !kineto_has(&event, KINETO_DUR);
	kineto_put(kineto, &event, phase[0]);
}

/* Behind an event that is no JSON: to the next one, as Kineto and Chrome begin them. Returns 0; -1 where there is none. */
static int step_over_broken(struct kineto *kineto, unsigned depth)
{
	static const char *const first_keys[] = {"\"ph\"", "\"name\""};
	struct json *json = &kineto->json;

	if (json_resume(json, depth, first_keys, sizeof(first_keys) / sizeof(first_keys[0])) != 0)
		return -1;
	if (kineto->broken++ == 0) {
		kineto->broken_at = json->bad_at;
		kineto->broken_reason = json->bad_reason;
	}
	return 0;
}

static void tell_broken(struct kineto *kineto)
{
	char reason[200];

	if (!kineto->broken)
		return;
	snprintf(reason, sizeof(reason), "%s: %" PRIu64 " event%s could not be read, %s; what stands around was read",
		 kineto->broken_reason, kineto->broken, kineto->broken == 1 ? "" : "s",
		 kineto->broken == 1 ? "this one" : "this one first");
	source_damage(kineto->source, kineto->broken_at,
		      "PyTorch 2.2 and older write quotes and backslashes in names as they are: take a newer one or other names", reason);
}

static void take_events(struct kineto *kineto)
{
	struct json *json = &kineto->json;
	unsigned depth = json->depth;
	enum json_word word;

	json->is_patient = 1;
	while ((word = json_next(json)) != JSON_ARRAY_END && (word > JSON_BAD || step_over_broken(kineto, depth) == 0)) {
		if (word == JSON_OBJECT)
			take_event(kineto);
		else
			json_skip(json, word);
	}
	json->is_patient = 0;
	tell_broken(kineto);
}

static void take_devices(struct kineto *kineto)
{
	struct json *json = &kineto->json;
	enum json_word word;

	while ((word = json_next(json)) != JSON_ARRAY_END && word > JSON_BAD) {
		struct kineto_event event;
		if (word != JSON_OBJECT) {
			json_skip(json, word);
			continue;
		}
		begin_event(kineto, &event);
		take_members(kineto, &event, 0);
		if (!json->is_bad)
			kineto_device(kineto, &event);
	}
}

static void take_rank(struct kineto *kineto)
{
	struct json *json = &kineto->json;
	enum json_word word;

	while ((word = json_next(json)) == JSON_KEY) {
		const char *name = json_is(json, "rank", 4) ? "RANK" : json_is(json, "world_size", 10) ? "WORLD_SIZE" : NULL;
		char text[64];
		word = json_next(json);
		snprintf(text, sizeof(text), "%.*s", (int)(json->length < 63 ? json->length : 63), json->word);
		if (name && (word == JSON_NUMBER || word == JSON_STRING))
			sink_pair(kineto->sink, TFP_TAG_environment, name, text);
		else
			json_skip(json, word);
	}
}

/* Only TensorFlow's profiler, and so JAX's, says that times are fine; Chrome does too, but its events have categories. */
static void take_metadata(struct kineto *kineto)
{
	struct json *json = &kineto->json;
	enum json_word word;

	while ((word = json_next(json)) == JSON_KEY) {
		kineto->is_for_viewer |= json_is(json, "highres-ticks", 13) != 0;
		word = json_next(json);
		json_skip(json, word);
	}
}

/* 0 where it is no time. */
static int64_t sound_base(int64_t base_ns)
{
	return base_ns > 0 && base_ns < LATEST_NS ? base_ns : 0;
}

/* The members of the file's one object. Behind '{'. */
static void take_file(struct kineto *kineto)
{
	struct json *json = &kineto->json;
	enum json_word word;
	char key[64];

	while ((word = json_next(json)) == JSON_KEY) {
		snprintf(key, sizeof(key), "%.*s", (int)(json->length < 63 ? json->length : 63), json->word);
		word = json_next(json);
		if (strcmp(key, "traceEvents") == 0 && word == JSON_ARRAY)
			take_events(kineto);
		else if (strcmp(key, "deviceProperties") == 0 && word == JSON_ARRAY)
			take_devices(kineto);
		else if (strcmp(key, "distributedInfo") == 0 && word == JSON_OBJECT)
			take_rank(kineto);
		else if (strcmp(key, "metadata") == 0 && word == JSON_OBJECT)
			take_metadata(kineto);
		else if (strcmp(key, "baseTimeNanoseconds") == 0 && (word == JSON_NUMBER || word == JSON_STRING))
			kineto->base_ns = sound_base(json_integer(json, 0));
		else if (strcmp(key, "host_name") == 0 && word == JSON_STRING)
			snprintf(kineto->about->host, sizeof(kineto->about->host), "%.*s",
				 (int)(json->length < 63 ? json->length : 63), json->word);
		else
			json_skip(json, word);
	}
}

/* What stands behind the events in some files and must be known before them. */
static void find_base(struct kineto *kineto, struct source *source)
{
	static const char key[] = "\"baseTimeNanoseconds\"";
	uint64_t from = source->bytes > SOURCE_LONGEST ? source->bytes - SOURCE_LONGEST : 0;
	size_t got;
	const uint8_t *tail = source_at(source, from, SOURCE_LONGEST, &got);
	const char *found = got ? memmem(tail, got, key, sizeof(key) - 1) : NULL;
	size_t left = found ? got - (size_t)(found - (const char *)tail) - (sizeof(key) - 1) : 0;
	char number[40] = "";

	if (!found || left < 2)
		return;
	memcpy(number, found + sizeof(key) - 1, left < sizeof(number) - 1 ? left : sizeof(number) - 1);
	const char *digits = strpbrk(number, "0123456789");
	kineto->base_ns = sound_base(digits ? strtoll(digits, NULL, 10) : 0);
}

static void free_all(struct kineto *kineto)
{
	json_free(&kineto->json);
	free(kineto->texts);
	for (size_t i = 0; i < sizeof(kineto->inputs) / sizeof(kineto->inputs[0]); i++)
		text_free(&kineto->inputs[i]);
	calls_free(&kineto->calls);
	free(kineto->tracks);
	free(kineto->places);
	base_index_free(&kineto->place_of);
	base_index_free(&kineto->track_of);
	free(kineto->shapes);
	base_index_free(&kineto->shape_of);
	free(kineto->sizes);
	base_index_free(&kineto->size_of);
	free(kineto);
}

int import_kineto(struct source *source, struct sink *sink, struct import_about *about)
{
	struct kineto *kineto = base_alloc(1, sizeof(*kineto));
	enum json_word word;
	int result;

	kineto->source = source;
	kineto->sink = sink;
	kineto->about = about;
	kineto->texts = base_alloc(KINETO_TEXTS, JSON_TEXT + 1);
	index_keys(kineto);
	find_base(kineto, source);
	json_begin(&kineto->json, source);
	word = json_next(&kineto->json);
	if (word == JSON_OBJECT)
		take_file(kineto);
	else if (word == JSON_ARRAY)
		take_events(kineto);
	json_end(&kineto->json);
	if (kineto->json.is_open)
		diag_add(source->diags, DIAG_NOTE, source->path, DIAG_NO_OFFSET, "",
			 "its list of events is not closed, as Chrome's format allows: if it was cut, what followed is missing");
	kineto_notes(kineto);
	source_out_of_time(source, kineto->out_of_time);
	if (!about->command[0] && (kineto->op_count || kineto->is_for_viewer)) /* Kineto is PyTorch's; others write Chrome's format, too */
		snprintf(about->command, sizeof(about->command), "python");
	result = kineto->event_count ? 0 : -1;
	for (size_t i = 0; i < sizeof(kineto->phases) / sizeof(kineto->phases[0]); i++)
		about->unread += i == 'M' ? 0 : kineto->phases[i];
	free_all(kineto);
	return result;
}

#define LOOKED_MOST (4u << 20) /* bytes in front of what tells a trace: Chrome's "stackFrames", a sorted "otherData" */

/* Does an object at that depth have the key, as far as is looked? */
static int has_key(struct source *source, unsigned depth, const char *key)
{
	struct json json;
	enum json_word word = JSON_NULL;
	int found = 0;

	json_begin(&json, source);
	while (!found && word != JSON_END && json.from + json.used < LOOKED_MOST) {
		word = json_next(&json);
		found = word == JSON_KEY && json.depth == depth && json_is(&json, key, strlen(key));
	}
	json_free(&json);
	return found;
}

int import_is_kineto(struct source *source)
{
	size_t got, at = json_start(source);
	const uint8_t *head = source_at(source, 0, SOURCE_LONGEST, &got);

	while (at < got && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
		at++;
	if (at == got)
		return 0;
	if (head[at] == '[')
		return memmem(head, got, "\"ph\"", 4) != NULL || has_key(source, 2, "ph");
	return head[at] == '{' && (memmem(head, got, "\"traceEvents\"", 13) || memmem(head, got, "\"schemaVersion\"", 15) ||
				   memmem(head, got, "\"deviceProperties\"", 18) || has_key(source, 1, "traceEvents"));
}
