/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libcupti and the length of its records; see collectors/cupti_api.h.
 *
 * Rule: nothing is called here before the driver is known to work.
 */
#include "collectors/cupti_state.h"

#include "collectors/loader.h"
#include "writer/sys.h"

#include <dlfcn.h>

#include "writer/poison.h"

/* CUDA's version that the driver serves; 0 = no answer. */
static uint32_t driver_version(void)
{
	int version = 0;
	void *driver = tfp_loader_open("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get_version)(int *) = NULL;

	if (driver)
		*(void **)(void *)&get_version = tfp_loader_symbol(driver, "cuDriverGetVersion");
	return !get_version || get_version(&version) || version < 1000 ? 0 : (uint32_t)version;
}

int tfp_cupti_open(struct tfp_cupti_api *api, const struct tfp_cupti_places *places)
{
	static const char none[] = "no libcupti was found that the driver serves";
	void *library;

	api->driver = driver_version();
	library = tfp_cupti_find(api, places);
	if (!library) {
		tfp_copy(api->path, none, sizeof none);
		return -1;
	}
	int missing = 0;
#define TFP_CUPTI_FUNCTION(is_needed, field, name, parameters) \
	*(void **)(void *)&api->field = tfp_cupti_options.behind(tfp_loader_symbol(library, name)); \
	missing |= (is_needed) && !api->field;
	TFP_CUPTI_FUNCTIONS(TFP_CUPTI_FUNCTION)
#undef TFP_CUPTI_FUNCTION
	api->has_session_question = tfp_loader_symbol(library, "cuptiIsTracingSessionRunning") != NULL;
	return missing ? -1 : 0;
}

int tfp_cupti_is_fragile(const struct tfp_cupti_api *api)
{
	return api->struct_size && !api->has_session_question;
}

#define PROBE_BYTES 4096u /* twice the longest record, and more */

void tfp_cupti_measure(const struct tfp_cupti_api *api, struct tfp_cupti_strides *strides)
{
	uint64_t *words = tfp_pages_get(PROBE_BYTES, 0);
	uint8_t *buffer = (uint8_t *)words;

	if (!words)
		return;
	for (uint32_t kind = 1; kind < TFP_CUPTI_KINDS; kind++) {
		const void *record = NULL;
		for (size_t i = 0; i < PROBE_BYTES / 8; i++)
			words[i] = kind; /* wherever the next record begins, it is of that kind */
		strides->of[kind] = 0;
		if (api->next_record(buffer, PROBE_BYTES, &record) || record != buffer)
			continue;
		if (api->next_record(buffer, PROBE_BYTES, &record) == TFP_CUPTI_SUCCESS && (const uint8_t *)record > buffer &&
		    (const uint8_t *)record < buffer + PROBE_BYTES)
			strides->of[kind] = (uint16_t)((const uint8_t *)record - buffer);
	}
	tfp_pages_put(words, PROBE_BYTES);
}

int tfp_cupti_devices(void)
{
	void *driver = tfp_loader_open("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get_count)(int *) = NULL, count = 0;

	if (driver)
		*(void **)(void *)&get_count = tfp_loader_symbol(driver, "cuDeviceGetCount");
	if (!get_count || get_count(&count)) /* inside cuInit it answers that it is not yet initialised */
		return -1;
	return count;
}
