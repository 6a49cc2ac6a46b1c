/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CUPTI that become facts: devices, contexts, streams, names. See collectors/cupti_decode.h. */
#include "collectors/cupti_decode.h"

#include "writer/records.h"

#include "writer/poison.h"

#define NAME_MOST 256 /* bytes of a device's, stream's or thread's name */

#define NUMBER(value) {.number = (uint64_t)(value)}

static struct tfp_text read_name(const char *from, char *room)
{
	long length = from ? tfp_cupti_read_text(from, room, NAME_MOST) : 0;

	return (struct tfp_text){room, length > 0 ? (size_t)length : 0};
}

void tfp_cupti_read_device(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_device *device = record;
	char room[NAME_MOST];
	const struct tfp_fact_field fields[] = {
		NUMBER(device->id),
		{.is_text = 1, .text = read_name(device->name, room)},
		{.is_text = 1, .text = {device->is_mig ? device->mig_uuid : device->uuid, sizeof device->uuid}},
		NUMBER(device->major),
		NUMBER(device->minor),
		NUMBER(device->multiprocessors),
		NUMBER(device->memory),
		NUMBER(device->bandwidth * 1000), /* kB a second */
		NUMBER(device->clock_khz * UINT64_C(1000)),
		NUMBER(device->l2_bytes),
		NUMBER(device->warp),
		NUMBER(device->warps),
		NUMBER(device->blocks),
		NUMBER(device->shared_bytes),
		NUMBER(device->registers),
		NUMBER(device->block_shared_bytes),
		NUMBER(device->is_mig),
	};

	reading->decoder->devices++;
	reading->decoder->fact(TFP_TAG_device, fields, sizeof fields / sizeof fields[0]);
}

void tfp_cupti_read_context(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_context *context = record;
	const struct tfp_fact_field fields[] = {
		NUMBER(context->context),
		NUMBER(context->device),
		NUMBER(context->null_stream),
		NUMBER(reading->stride >= 24 ? context->parent : 0),
	};

	reading->decoder->fact(TFP_TAG_context, fields, sizeof fields / sizeof fields[0]);
}

void tfp_cupti_read_stream(struct tfp_cupti_reading *reading, const void *record)
{
	const struct tfp_cupti_stream *stream = record;
	const struct tfp_fact_field fields[] = {
		NUMBER(stream->context), NUMBER(stream->stream), NUMBER((int64_t)(int32_t)stream->priority),
		NUMBER(stream->flag),	 NUMBER(0),
	};

	reading->decoder->fact(TFP_TAG_stream, fields, sizeof fields / sizeof fields[0]);
}

/* CUpti_ActivityObjectKind: 1 process, 2 thread {process, thread}; 3 device, 4 context, 5 stream {device, context, stream}. */
void tfp_cupti_read_name(struct tfp_cupti_reading *reading, const void *record)
{
	static const uint8_t id_of[] = {0, 0, 1, 0, 1, 2};
	const struct tfp_cupti_name *name = record;
	uint32_t object = name->object < sizeof id_of ? name->object : 0;
	char room[NAME_MOST];
	const struct tfp_fact_field fields[] = {
		NUMBER(name->object),
		NUMBER(name->object_id[id_of[object]]),
		NUMBER(object == 5 ? name->object_id[1] : 0),
		{.is_text = 1, .text = read_name(name->name, room)},
	};

	reading->decoder->fact(TFP_TAG_gpu_name, fields, sizeof fields / sizeof fields[0]);
}
