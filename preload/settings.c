/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the settings; see preload/settings.h. */
#include "preload/settings.h"

#include "preload/environment.h"
#include "writer/records.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

struct tfp_settings tfp_settings;

#define PATH_BYTES 4096 /* PATH_MAX of Linux with its terminator */

/* OUT where that is relative, behind the folder that the program started in; else empty. Written by tfp_settings_load, kept across fork. */
static char whole_out[PATH_BYTES + TFP_SETTING_TEXT];

/* NAME of "TFPROF_NAME=value", copied to `name`; NULL for other variables and for ours that are no settings. Else the value. */
static const char *setting_of(const char *entry, char *name, size_t room)
{
	const char *prefix = TFP_SETTING_PREFIX;
	size_t length = 0;

	while (*prefix && *entry == *prefix) {
		entry++;
		prefix++;
	}
	if (*prefix)
		return NULL;
	while (entry[length] && entry[length] != '=' && length + 1 < room) {
		name[length] = entry[length];
		length++;
	}
	name[length] = 0;
	size_t skip = sizeof TFP_SETTING_PREFIX - 1;
	if (entry[length] != '=' || tfp_same(name, TFP_JOB_VARIABLE + skip, sizeof TFP_JOB_VARIABLE - skip) ||
	    tfp_same(name, TFP_PARENT_VARIABLE + skip, sizeof TFP_PARENT_VARIABLE - skip) ||
	    tfp_same(name, TFP_TOOL_VARIABLE + skip, sizeof TFP_TOOL_VARIABLE - skip))
		return NULL;
	return entry + length + 1;
}

static void find_whole_out(void)
{
	long got = 0;

	if (tfp_settings.out[0] != '/')
		got = tfp_sys(SYS_getcwd, (long)whole_out, PATH_BYTES, 0, 0, 0, 0); /* counts the terminator */
	if (got <= 1 || whole_out[0] != '/') { /* "(unreachable)" where another root has it */
		whole_out[0] = 0;
		return;
	}
	char *at = whole_out + got - 1;
	if (at[-1] != '/')
		*at++ = '/';
	tfp_copy(at, tfp_settings.out, tfp_length(tfp_settings.out) + 1);
}

const char *tfp_settings_out(void)
{
	return whole_out[0] ? whole_out : tfp_settings.out;
}

void tfp_settings_hand_on(void)
{
	if (whole_out[0] && tfp_length(whole_out) < TFP_SETTING_TEXT)
		tfp_environment_settle(TFP_SETTING_PREFIX "OUT", tfp_settings.out, whole_out);
}

void tfp_settings_load(void)
{
	struct tfp_setting_problem problem;
	char name[64];

	tfp_settings_default(&tfp_settings);
	for (char *const *entry = tfp_environment(); *entry; entry++) {
		const char *value = setting_of(*entry, name, sizeof name);
		if (value)
			tfp_settings_apply(&tfp_settings, name, value, &problem); /* noted once there is a log */
	}
	find_whole_out();
}

static int is_from_environment(const char *wanted)
{
	char name[64];

	for (char *const *entry = tfp_environment(); *entry; entry++)
		if (setting_of(*entry, name, sizeof name) && tfp_same_text(name, wanted))
			return 1;
	return 0;
}

static struct tfp_fact_field text_field(const char *text)
{
	return (struct tfp_fact_field){.is_text = 1, .text = {text, tfp_length(text)}};
}

static void note_error(const char *name, const char *value)
{
	struct tfp_setting_problem problem;

	if (!tfp_settings_apply(&tfp_settings, name, value, &problem))
		return; /* good, and in force already */
	struct tfp_fact_field fields[3] = {text_field(name), text_field(value), text_field(problem.remedy)};
	if (fields[1].text.length > 4096)
		fields[1].text.length = 4096;
	tfp_store_fact(TFP_TAG_setting_error, fields, 3);
}

void tfp_settings_note(void)
{
	char value[TFP_SETTING_TEXT], name[64];

	for (int number = 0; tfp_setting_row(number); number++) {
		const char *setting = tfp_setting_row(number)->name;
		tfp_setting_format(&tfp_settings, number, value, sizeof value);
		struct tfp_fact_field fields[3] = {text_field(setting), text_field(value),
						   {.number = (uint64_t)is_from_environment(setting)}};
		tfp_store_fact(TFP_TAG_setting, fields, 3);
	}
	for (char *const *entry = tfp_environment(); *entry; entry++) {
		const char *text = setting_of(*entry, name, sizeof name);
		if (text)
			note_error(name, text);
	}
}
