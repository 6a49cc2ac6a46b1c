/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices in files of Kineto's kind whose work has no category that we know: Ascend's NPUs, and all in what TensorFlow and JAX write for
 * viewers. See kineto.h.
 *
 * Rule: what a device did that stands in no table of devices is told to be there, so that nobody takes it for idle.
 */
#include "reducer/import/kineto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_place(const void *context, const void *key, uint32_t place)
{
	return ((const struct kineto *)context)->places[place].key == *(const uint64_t *)key;
}

uint32_t kineto_place(struct kineto *kineto, const struct kineto_event *event)
{
	const char *pid = kineto_text(kineto, event, KINETO_PID);
	uint64_t key = base_hash(BASE_HASH, pid, strlen(pid));
	uint32_t place = base_index_find(&kineto->place_of, key, is_place, kineto, &key);

	if (place != UINT32_MAX)
		return place;
	kineto->places = base_grow(kineto->places, &kineto->place_room, kineto->place_count + 1, sizeof(*kineto->places));
	kineto->places[kineto->place_count] = (struct kineto_place){.key = key};
	base_index_add(&kineto->place_of, key, (uint32_t)kineto->place_count);
	return (uint32_t)kineto->place_count++;
}

void kineto_label(struct kineto *kineto, const struct kineto_event *event)
{
	const char *name = kineto_text(kineto, event, KINETO_NAME), *label = kineto_text(kineto, event, KINETO_LABELS);
	int is_name = strcmp(name, "process_name") == 0, is_device = is_name && strncmp(label, "/device:", 8) == 0;

	/* Planes of an XPlane: JAX's perfetto_trace.json.gz has them, too, but not what says that it is for viewers. */
	if (!kineto->event_count)
		kineto->is_for_viewer |= is_device || (is_name && strncmp(label, "/host:", 6) == 0);
	is_device &= kineto->is_for_viewer;
	if (is_name && !kineto->is_for_viewer && !kineto->about->command[0])
		snprintf(kineto->about->command, sizeof(kineto->about->command), "%.15s", label);
	if (strcmp(name, "thread_name") == 0 && label[0])
		kineto_name_thread(kineto, event);
	if (!is_device && (strcmp(name, "process_labels") != 0 || !label[0]))
		return;
	uint32_t place = kineto_place(kineto, event); /* it may move them */
	snprintf(kineto->places[place].label, sizeof(kineto->places[place].label), "%.39s", label);
}

/* The host, and GPUs, whose kernels have a category: what else stands beside those is about them, not their work. */
static int is_known(const char *label)
{
	return !label[0] || strncmp(label, "CPU", 3) == 0 || strncmp(label, "GPU", 3) == 0;
}

void kineto_processes(struct kineto *kineto)
{
	char text[160];
	size_t count = 0;

	for (size_t i = 0; i < kineto->place_count; i++)
		count += kineto->places[i].is_process && is_known(kineto->places[i].label);
	if (count < 2 || kineto->is_for_viewer)
		return;
	snprintf(text, sizeof(text),
		 "The file tells of %zu processes, which stand as one: that of the first event, with the threads of all.", count);
	sink_pair(kineto->sink, TFP_TAG_note, "import", text);
}

void kineto_devices(struct kineto *kineto)
{
	const struct kineto_place *first = NULL;
	uint64_t count = 0;
	char text[200];

	for (size_t i = 0; i < kineto->place_count && !kineto->queue_count; i++) {
		const struct kineto_place *place = &kineto->places[i];
		if (!place->ranges || is_known(place->label))
			continue;
		first = first ? first : place;
		count++;
	}
	if (!first)
		return;
	snprintf(text, sizeof(text),
		 "The file tells of devices as ranges alone (first: %s; %" PRIu64 " in all): what was done there is in no table of "
		 "devices.",
		 first->label, count);
	sink_pair(kineto->sink, TFP_TAG_note, "import of devices", text);
}
