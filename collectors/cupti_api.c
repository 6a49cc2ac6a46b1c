/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding libcupti, its functions and the length of its records; see collectors/cupti_api.h.
 *
 * Rule: the copy that the host has mapped comes first, then the one that belongs to the CUDA runtime it has mapped, then
 * what the loader finds, then the toolkit, then the wheel among the Python packages that the host has mapped something of: two
 * copies in one process fight for one subscriber. Never newer than the driver.
 */
#include "collectors/cupti_state.h"

#include "collectors/loader.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <link.h>


#define FOLDERS 12   /* of objects that may have CUPTI beside them */
#define PACKAGES 4   /* a virtual environment, the user's own, the system's */
#define PATH 512

/* Newest first. `major` is CUDA's: a driver serves its own and older ones. */
static const struct library {
	uint32_t major;
	const char *name;
} libraries[] = {
	{13, "libcupti.so.13"},
	{12, "libcupti.so.12"},
	{11, "libcupti.so.11.8"},
	{11, "libcupti.so.11.7"},
};
#define LIBRARIES (sizeof libraries / sizeof libraries[0])

/* From a folder with a CUDA library to one with CUPTI: the same, a wheel's sibling, the toolkit's extras. */
static const char *const beside[] = {
	"", "/../../cuda_cupti/lib", "/../../nvidia/cuda_cupti/lib", "/../../nvidia/cu13/lib", "/../extras/CUPTI/lib64",
	"/../../../extras/CUPTI/lib64",
};

/* From the folder of Python's packages. */
static const char *const in_packages[] = {"/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib"};

struct folders {
	uint32_t count;
	uint32_t major; /* of the mapped runtime, 0 = none */
	char paths[FOLDERS][PATH];
	uint32_t package_count;
	char packages[PACKAGES][PATH]; /* folders of Python's packages that something is mapped from */
};

static size_t copy_text(char *to, size_t at, const char *text)
{
	size_t length = tfp_length(text);

	if (at + length >= PATH)
		return PATH;
	tfp_copy(to + at, text, length + 1);
	return at + length;
}

static int begins_with(const char *text, const char *start)
{
	return tfp_length(text) >= tfp_length(start) && tfp_same(text, start, tfp_length(start));
}

static uint32_t number_at(const char *digit)
{
	uint32_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++)
		number = number * 10 + (uint32_t)(*digit - '0');
	return number;
}

/* Objects beside which CUPTI is looked for: the runtime, and what is installed with it. */
static int is_of_cuda(const char *base)
{
	return begins_with(base, "libcudart.so") || begins_with(base, "libtorch_cuda") || begins_with(base, "libcublas") ||
	       begins_with(base, "libnvrtc.so") || begins_with(base, "libc10_cuda");
}

/* .../site-packages or dist-packages of a path, each once. */
static void note_packages(struct folders *folders, const char *name)
{
	size_t length = 0;

	for (const char *at = name; at && *at && !length; at++)
		if (begins_with(at, "/site-packages/") || begins_with(at, "/dist-packages/"))
			length = (size_t)(at - name) + sizeof "/site-packages" - 1;
	if (!length || length >= PATH || folders->package_count == PACKAGES)
		return;
	for (uint32_t i = 0; i < folders->package_count; i++)
		if (tfp_length(folders->packages[i]) == length && tfp_same(folders->packages[i], name, length))
			return;
	char *path = folders->packages[folders->package_count++];
	tfp_copy(path, name, length);
	path[length] = 0;
}

/* Under the loader's lock: copies names, calls nobody. */
static int note_object(struct dl_phdr_info *info, size_t bytes, void *into)
{
	struct folders *folders = into;
	const char *name = info->dlpi_name, *base = name;
	static const char runtime[] = "libcudart.so.";

	(void)bytes;
	note_packages(folders, name);
	for (const char *at = name; at && *at; at++)
		if (*at == '/')
			base = at + 1;
	if (!name || base == name || !is_of_cuda(base) || folders->count == FOLDERS || base - name > PATH)
		return 0;
	char *path = folders->paths[folders->count++];
	uint32_t major = begins_with(base, runtime) ? number_at(base + sizeof runtime - 1) : 0;
	if (major > folders->major) { /* the newest runtime's own folder is the first to be looked into */
		folders->major = major;
		if (path != folders->paths[0])
			tfp_copy(path, folders->paths[0], PATH);
		path = folders->paths[0];
	}
	tfp_copy(path, name, (size_t)(base - name) - 1);
	path[base - name - 1] = 0;
	return 0;
}

/* Keeps how the library was named: its path where we gave one. */
static void *open_at(struct tfp_cupti_api *api, const char *folder, const char *more, const char *name)
{
	char path[PATH];
	size_t at = copy_text(path, 0, folder);

	at = at < PATH ? copy_text(path, at, more) : at;
	at = at < PATH ? copy_text(path, at, "/") : at;
	at = at < PATH ? copy_text(path, at, name) : at;
	void *object = at < PATH ? tfp_loader_open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (object)
		copy_text(api->path, 0, path);
	return object;
}

static void *open_beside(struct tfp_cupti_api *api, const struct folders *folders, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		if (libraries[i].major > most || (folders->major && libraries[i].major != folders->major))
			continue;
		for (size_t k = 0; k < folders->count * (sizeof beside / sizeof beside[0]); k++) {
			void *object = open_at(api, folders->paths[k % folders->count], beside[k / folders->count],
					       libraries[i].name);
			if (object)
				return object;
		}
	}
	return NULL;
}

/* By name alone: mapped already (flags with RTLD_NOLOAD), or wherever the loader looks. */
static void *open_by_name(struct tfp_cupti_api *api, int flags, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		void *object = libraries[i].major <= most ? tfp_loader_open(libraries[i].name, flags) : NULL;
		if (!object)
			continue;
		copy_text(api->path, 0, libraries[i].name);
		return object;
	}
	return NULL;
}

static void *open_in_toolkit(struct tfp_cupti_api *api, const char *toolkit, uint32_t most)
{
	static const char *const inside[] = {"/extras/CUPTI/lib64", "/lib64", "/lib"}; /* the last: a toolkit of wheels */
	const char *const roots[] = {toolkit, "/usr/local/cuda"};

	for (size_t i = 0; i < LIBRARIES * 6; i++) {
		const struct library *library = &libraries[i / 6];
		const char *root = roots[i / 3 % 2];
		void *object = *root && library->major <= most ? open_at(api, root, inside[i % 3], library->name) : NULL;
		if (object)
			return object;
	}
	return NULL;
}

static void *open_in_packages(struct tfp_cupti_api *api, const struct folders *folders, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES * PACKAGES * 2; i++) {
		const struct library *library = &libraries[i / (PACKAGES * 2)];
		uint32_t package = i / 2 % PACKAGES;
		if (library->major > most || package >= folders->package_count)
			continue;
		void *object = open_at(api, folders->packages[package], in_packages[i % 2], library->name);
		if (object)
			return object;
	}
	return NULL;
}

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

static void *find_library(struct tfp_cupti_api *api, const char *toolkit)
{
	uint32_t most = api->driver >= 1000 ? api->driver / 1000 : UINT32_MAX; /* without an answer any is tried */
	struct folders *folders = tfp_pages_get(sizeof *folders, 0);
	void *object = open_by_name(api, RTLD_NOW | RTLD_NOLOAD, UINT32_MAX);

	if (folders && !object) {
		dl_iterate_phdr(note_object, folders);
		object = open_beside(api, folders, most);
	}
	if (!object)
		object = open_by_name(api, RTLD_NOW | RTLD_LOCAL, most);
	if (!object)
		object = open_in_toolkit(api, toolkit, most);
	if (folders && !object)
		object = open_in_packages(api, folders, most);
	if (folders)
		tfp_pages_put(folders, sizeof *folders);
	return object;
}

int tfp_cupti_open(struct tfp_cupti_api *api, const char *toolkit)
{
	void *library;

	api->driver = driver_version();
	library = find_library(api, toolkit);
	if (!library) {
		copy_text(api->path, 0, "no libcupti was found that the driver serves");
		return -1;
	}
	int missing = 0;
#define TFP_CUPTI_FUNCTION(is_needed, field, name, parameters) \
	*(void **)(void *)&api->field = tfp_loader_symbol(library, name); \
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
