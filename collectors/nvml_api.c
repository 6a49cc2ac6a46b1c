/* SPDX-License-Identifier: Apache-2.0 */
/* Finding NVML and its functions; see collectors/nvml.h. Rule: only called once the process's cuInit has succeeded. */
#include "collectors/nvml.h"

#include "collectors/loader.h"
#include "writer/sys.h"

#include <dlfcn.h>

#include "writer/poison.h"

int tfp_nvml_open(struct tfp_nvml_api *api)
{
	void *library = tfp_loader_open("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int missing = 0;

	if (!library)
		return -1;
#define TFP_NVML_FUNCTION(is_needed, field, name, older, parameters)                                                             \
	*(void **)(void *)&api->field = tfp_loader_symbol(library, name);                                                       \
	if (!api->field)                                                                                                         \
		*(void **)(void *)&api->field = tfp_loader_symbol(library, older);                                              \
	missing |= (is_needed) && !api->field;
	TFP_NVML_FUNCTIONS(TFP_NVML_FUNCTION)
#undef TFP_NVML_FUNCTION
	return missing ? -2 : 0;
}

static char digit(unsigned value)
{
	return (char)(value < 10 ? '0' + value : 'a' + value - 10);
}

/* "GPU-" and the bytes in groups of 4, 2, 2, 2, 6. */
static void put_uuid(char *to, const uint8_t bytes[16])
{
	tfp_copy(to, "GPU-", 4);
	to += 4;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digit(bytes[i] >> 4);
		*to++ = digit(bytes[i] & 15);
	}
	*to = 0;
}

uint32_t tfp_nvml_cuda_uuids(char (*uuids)[48], uint32_t most)
{
	void *driver = tfp_loader_open("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get_count)(int *) = NULL, (*get)(int *, int) = NULL, (*get_uuid)(uint8_t *, int) = NULL, count = 0, device;
	uint8_t bytes[16];
	uint32_t found = 0;

	if (driver) {
		*(void **)(void *)&get_count = tfp_loader_symbol(driver, "cuDeviceGetCount");
		*(void **)(void *)&get = tfp_loader_symbol(driver, "cuDeviceGet");
		*(void **)(void *)&get_uuid = tfp_loader_symbol(driver, "cuDeviceGetUuid");
	}
	if (!get_count || !get || !get_uuid || get_count(&count))
		return 0;
	for (; count > 0 && found < (uint32_t)count && found < most; found++) {
		uuids[found][0] = 0;
		if (!get(&device, (int)found) && !get_uuid(bytes, device))
			put_uuid(uuids[found], bytes);
	}
	return found;
}
