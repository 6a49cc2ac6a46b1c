/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records.def: the tags, and the struct of each event as it lies in a chunk (struct tfp_record_NAME, word 0 first).
 * Rule: made by the table alone; nothing is added here by hand.
 */
#ifndef TFP_WRITER_RECORDS_H
#define TFP_WRITER_RECORDS_H

#include <stdint.h>

enum tfp_tag {
#define TFP_EVENT(tag, name, help) TFP_TAG_##name = tag,
#define TFP_FACT(tag, name, help) TFP_TAG_##name = tag,
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_END()
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
};

typedef uint8_t tfp_type_u8;
typedef uint16_t tfp_type_u16;
typedef uint32_t tfp_type_u32;
typedef uint64_t tfp_type_u64;
typedef int64_t tfp_type_i64;
/* The fields of a fact are written row by row (struct tfp_fact); their struct exists only so that the table is one. */
typedef uint64_t tfp_type_str;

#define TFP_EVENT(tag, name, help) \
	struct tfp_record_##name { \
		uint64_t word;
#define TFP_FACT(tag, name, help) \
	struct tfp_fact_##name { \
		uint64_t word;
#define TFP_FIELD(name, type, unit, transform, help) tfp_type_##type name;
#define TFP_END() \
	} \
	;
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END

#endif
