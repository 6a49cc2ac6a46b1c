/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing activity records in the layout of the release that is simulated.
 * Rule: places and sizes come from cupti_layout.def alone; a field that the release does not have is not written.
 */
#ifndef TEST_SIM_CUPTI_LAYOUT_H
#define TEST_SIM_CUPTI_LAYOUT_H

#include <stdint.h>
#include <string.h>

enum sim_family {
#define SIM_RECORD(family, record) SIM_FAMILY_##family,
#define SIM_KIND(kind, family, release)
#define SIM_SIZE(family, release, bytes)
#define SIM_FIELD(family, field, designator, offset, bytes, release)
#include "cupti_layout.def"
#undef SIM_RECORD
#undef SIM_FIELD
	SIM_FAMILY_COUNT
};

enum sim_field_place {
#define SIM_RECORD(family, record)
#define SIM_FIELD(family, field, designator, offset, bytes, release) \
	SIM_AT_##family##_##field = (offset), SIM_BYTES_##family##_##field = (bytes), SIM_FROM_##family##_##field = (release),
#include "cupti_layout.def"
#undef SIM_RECORD
#undef SIM_FIELD
#undef SIM_SIZE
#undef SIM_KIND
};

enum {
	SIM_KIND_COUNT = 64, /* more kinds than any release has */
	SIM_RECORD_MOST = 256, /* bytes; the longest record, without those made longer by a fault */
};

/* A release of CUPTI: what cuptiGetVersion says, and the folder name. */
struct sim_release {
	uint32_t number; /* major * 100 + minor */
	uint32_t version; /* cuptiGetVersion() */
};

/* The release simulated; settled before the first call of CUPTI returns. */
extern uint32_t sim_release;

/* Settles sim_release: setting cupti_version where its major number is that of this library, else the library's own. */
void sim_release_settle(void);
uint32_t sim_release_version(void);

/* Bytes of a record of that kind in the release simulated, 0 = the release has no such kind. */
uint32_t sim_record_bytes(uint32_t kind);
/* Family of a kind; SIM_FAMILY_COUNT = none. */
enum sim_family sim_kind_family(uint32_t kind);

static inline void sim_put(void *record, unsigned at, unsigned bytes, unsigned from, uint64_t value)
{
	if (sim_release >= from)
		memcpy((char *)record + at, &value, bytes);
}

/* Stores a value into a field of a record; little endian, as every machine with CUDA. */
#define SIM_PUT(record, family, field, value) \
	sim_put(record, SIM_AT_##family##_##field, SIM_BYTES_##family##_##field, SIM_FROM_##family##_##field, (uint64_t)(value))

#endif
