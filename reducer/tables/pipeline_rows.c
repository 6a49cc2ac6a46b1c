/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of tf.data pipelines share; see reducer/tables/pipeline_rows.h. */
#include "reducer/tables/pipeline_rows.h"

#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <stdio.h>

void pipeline_label(const struct pipelines *all, const struct pipeline_node *root, char *label, size_t room)
{
	size_t number = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct pipeline_node *other = &all->nodes[i];
		if (other->is_root && other->log_id == root->log_id && other->is_device == root->is_device &&
		    (other->first_ns < root->first_ns || (other->first_ns == root->first_ns && other < root)))
			number++;
	}
	snprintf(label, room, "%s:%zu", root->is_device ? "Device" : "Host", number);
}

void pipeline_notes(struct table *table, const struct request *request)
{
	uint64_t forgotten = 0;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct pipelines *all = analyses_process(request->analyses, &analysis_pipelines, p);
		for (size_t i = 0; all && i < all->count; i++)
			forgotten += all->nodes[i].forgotten;
	}
	if (forgotten)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64
			   " calls were so many between two calls of their pipeline that they are not looked at for what "
			   "blocked; they count in all else.",
			   forgotten);
	if (!table->row_count && !notes_not_in_file(table, request))
		table_note(table, NOTE_INFO,
			   "No tf.data pipeline was asked for anything while events were recorded (TensorFlow 2.15 and newer, "
			   "TFPROF_OPS not off).");
	notes_layouts(table, request);
	notes_recording(table, request);
}
