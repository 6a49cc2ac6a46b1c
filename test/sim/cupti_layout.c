/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of records by release, and which release this is.
 * Rule: no number of a layout stands here; see cupti_layout.def.
 */
#include "cupti_layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "cupti_state.h"

#ifndef SIM_OWN_RELEASE
#define SIM_OWN_RELEASE 1300 /* the release of this library's soname, when the scenario names none */
#endif

uint32_t sim_release = SIM_OWN_RELEASE;

/* cuptiGetVersion by release; 12.7 was never made. Measured on the vendor's libraries. */
static const struct sim_release releases[] = {
	{1107, 17}, {1108, 18}, {1200, 18}, {1201, 18}, {1202, 20}, {1203, 21}, {1204, 22}, {1205, 23}, {1206, 24}, {1208, 26},
	{1209, 28}, {1300, 130001}, {1301, 130101}, {1302, 130202}, {1303, 130301}, {1304, 130401}, {1305, 130500},
};

struct size_from {
	uint8_t family;
	uint16_t release;
	uint16_t bytes;
};

/* In the order of the table: of one family by release. */
static const struct size_from sizes[] = {
#define SIM_RECORD(family, record)
#define SIM_KIND(kind, family, release)
#define SIM_SIZE(family, release, bytes) {SIM_FAMILY_##family, release, bytes},
#define SIM_FIELD(family, field, designator, offset, bytes, release)
#include "cupti_layout.def"
#undef SIM_KIND
#undef SIM_SIZE
};

static const struct {
	uint8_t kind, family;
	uint16_t release;
} kinds[] = {
#define SIM_KIND(kind, family, release) {kind, SIM_FAMILY_##family, release},
#define SIM_SIZE(family, release, bytes)
#include "cupti_layout.def"
#undef SIM_KIND
#undef SIM_SIZE
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t kind_bytes[SIM_KIND_COUNT]; /* filled by sim_release_settle */
static uint8_t kind_family[SIM_KIND_COUNT];

static uint32_t family_bytes(enum sim_family family)
{
	uint32_t bytes = 0;

	for (size_t i = 0; i < LENGTH(sizes); i++)
		if (sizes[i].family == family && sizes[i].release <= sim_release)
			bytes = sizes[i].bytes;
	return bytes;
}

void sim_release_settle(void)
{
	unsigned major, minor;

	if (sscanf(sim_setting_text("cupti_version", ""), "%u.%u", &major, &minor) == 2 && major == SIM_OWN_RELEASE / 100)
		sim_release = major * 100 + minor;
	memset(kind_family, SIM_FAMILY_COUNT, sizeof(kind_family));
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		if (kinds[i].release > sim_release)
			continue;
		kind_family[kinds[i].kind] = kinds[i].family;
		kind_bytes[kinds[i].kind] = family_bytes(kinds[i].family) + (uint32_t)sim_fault_longer();
	}
}

uint32_t sim_release_version(void)
{
	for (size_t i = 0; i < LENGTH(releases); i++)
		if (releases[i].number == sim_release)
			return releases[i].version;
	fprintf(stderr, "simgpu: no release %u.%u of CUPTI\n", sim_release / 100, sim_release % 100);
	abort();
}

uint32_t sim_record_bytes(uint32_t kind)
{
	return kind < SIM_KIND_COUNT ? kind_bytes[kind] : 0;
}

enum sim_family sim_kind_family(uint32_t kind)
{
	return kind < SIM_KIND_COUNT ? (enum sim_family)kind_family[kind] : SIM_FAMILY_COUNT;
}
