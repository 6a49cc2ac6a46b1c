/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: which code of an image fits the device (fatbin, cubin, PTX), its functions and variables.
 *
 * Rule: the image is real, made by nvcc; names and resources come from the cubin in it. PTX alone counts as compiled by the
 * driver: a JIT record, functions by their .entry lines, no cubin.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inner.h"

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define ENTRY_PTX 1
#define ENTRY_ELF 2
#define IS_COMPRESSED 0xa000u	/* LZ4 0x2000, Zstandard 0x8000 */

struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *file;
};
struct fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};
struct entry {
	uint16_t kind, version;
	uint32_t header_size;
	uint64_t size;
	uint32_t packed_size, unused;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name_offset, name_size;
	uint64_t flags, zero, plain_size;
};

static uint32_t last_id;	/* under the lock */

bool sim_module_is_live(const struct sim_module *module)
{
	return sim_is_object(module, SIM_MAGIC_MODULE);
}

bool sim_function_is_live(const struct sim_function *function)
{
	return sim_is_object(function, SIM_MAGIC_FUNCTION);
}

/* The newest cubin that the device runs, else the newest at all; NULL when there is none that can be read: is_sealed, there are others. */
static const struct entry *choose(const struct fatbin *fatbin, uint32_t arch, bool *has_ptx, bool *is_sealed)
{
	const char *at = (const char *)fatbin + fatbin->header_size, *end = at + fatbin->size;
	const struct entry *best = NULL, *entry;

	*is_sealed = false;
	for (*has_ptx = false; at + sizeof *entry <= end; at += entry->header_size + entry->size) {
		entry = (const struct entry *)at;
		if (!entry->header_size)
			break;
		*has_ptx |= entry->kind == ENTRY_PTX;
		*is_sealed |= (entry->flags & IS_COMPRESSED) != 0;
		if (entry->kind != ENTRY_ELF || entry->flags & IS_COMPRESSED)
			continue;
		if (!best || (entry->arch <= arch ? best->arch > arch || entry->arch > best->arch : best->arch > arch &&
			entry->arch < best->arch))
			best = entry;
	}
	return best;
}

static void tell_jit(int device, uint64_t start)
{
	static _Atomic uint64_t count;
	const struct sim_subscriber *subscriber = sim_subscriber();
	uint64_t length = SIM_NUMBER("jit_ns", 0);
	struct timespec pause = {.tv_sec = (time_t)(length / 1000000000), .tv_nsec = (long)(length % 1000000000)};
	struct sim_jit jit;

	if (length)
		nanosleep(&pause, NULL);
	jit = (struct sim_jit){.entry = 1, .operation = 3, .device = device, .correlation = sim_correlation(), .thread = sim_thread_id(),
			       .number = ++count, .start = start, .end = sim_clock_now()};
	if (subscriber && subscriber->jit)
		subscriber->jit(&jit);
}

static struct sim_function *add_function(struct sim_module *module, const char *name, size_t length)
{
	struct sim_function *function = sim_object_new(sizeof *function);

	*function = (struct sim_function){.magic = SIM_MAGIC_FUNCTION, .module = module, .next = module->functions, .registers = 32,
					  .name = strndup(name, length), .max_threads = 1024};
	module->functions = function;
	return function;
}

/* The kernels of a PTX text. */
static void read_ptx(struct sim_module *module, const char *text)
{
	while ((text = strstr(text, ".entry"))) {
		text += 6;
		text += strspn(text, " \t\n");
		add_function(module, text, strcspn(text, " \t\n("));
	}
}

/* The size of an ELF image that comes without one. */
static size_t elf_size(const char *elf)
{
	uint64_t sections, headers;
	uint16_t section_size, section_count, header_size, header_count;
	size_t size;

	memcpy(&headers, elf + 32, 8);
	memcpy(&sections, elf + 40, 8);
	memcpy(&header_size, elf + 54, 2);
	memcpy(&header_count, elf + 56, 2);
	memcpy(&section_size, elf + 58, 2);
	memcpy(&section_count, elf + 60, 2);
	size = sections + (size_t)section_size * section_count;
	return headers + (size_t)header_size * header_count > size ? headers + (size_t)header_size * header_count : size;
}

static int take_cubin(struct sim_module *module, const char *cubin, size_t size)
{
	module->cubin = sim_allocate(size);
	module->cubin_size = size;
	memcpy(module->cubin, cubin, size);
	return sim_elf_read(module);
}

static int read_image(struct sim_module *module, const void *image, int device, bool is_own_text)
{
	const struct sim_device *facts = sim_device_at(device < 0 ? 0 : device);
	const struct entry *entry;
	uint32_t magic, arch = (uint32_t)(facts->major * 10 + facts->minor);
	uint64_t start = sim_clock_now();
	bool has_ptx;

	memcpy(&magic, image, sizeof magic);
	if (magic == WRAPPER_MAGIC)
		return read_image(module, ((const struct wrapper *)image)->data, device, is_own_text);
	if (magic == FATBIN_MAGIC) {
		entry = choose(image, arch, &has_ptx, &module->is_sealed);
		if (!entry)
			return has_ptx || is_own_text || module->is_sealed ? SIM_OK : SIM_NO_BINARY;
		if (has_ptx && entry->arch / 10 != arch / 10)
			tell_jit(facts->ordinal, start);
		return take_cubin(module, (const char *)entry + entry->header_size, entry->size);
	}
	if (!memcmp(image, "\177ELF", 4))
		return take_cubin(module, image, elf_size(image));
	if (memchr(image, '.', 4096) && strstr(image, ".version")) {
		read_ptx(module, image);
		tell_jit(facts->ordinal, start);
		return SIM_OK;
	}
	return SIM_INVALID_IMAGE;
}

/* context NULL: a library or a runtime's fat binary, whose functions may be asked for by any name. */
int sim_module_load(struct sim_context *context, const void *image, size_t size, struct sim_module **made)
{
	struct sim_module *module;
	int result;

	if (!image || !made)
		return SIM_INVALID_VALUE;
	module = sim_object_new(sizeof *module);
	*module = (struct sim_module){.magic = SIM_MAGIC_MODULE, .context = context, .image = image, .image_size = size};
	sim_lock();
	module->id = ++last_id;
	sim_unlock();
	result = read_image(module, image, context ? context->machine->facts.ordinal : -1, !context);
	if (result)
		return result;
	*made = module;
	if (context)
		sim_module_loaded(module, context);
	return SIM_OK;
}

void sim_module_loaded(struct sim_module *module, struct sim_context *context)
{
	bool is_first;

	sim_lock();
	is_first = !module->is_loaded;
	module->is_loaded = true;
	module->context = context;
	sim_unlock();
	if (is_first && module->cubin)
		sim_tell_resource(&(struct sim_resource){.kind = SIM_MODULE_LOADED, .context = context, .module_id = module->id,
							 .cubin_size = module->cubin_size, .cubin = module->cubin});
}

int sim_module_unload(struct sim_module *module)
{
	if (!sim_module_is_live(module))
		return SIM_INVALID_HANDLE;
	if (module->is_loaded && module->context && module->cubin)
		sim_tell_resource(&(struct sim_resource){.kind = SIM_MODULE_UNLOAD_STARTING, .context = module->context,
							 .module_id = module->id, .cubin_size = module->cubin_size,
								.cubin = module->cubin});
	module->magic = SIM_MAGIC_DEAD;
	for (struct sim_function *function = module->functions; function; function = function->next)
		function->magic = SIM_MAGIC_DEAD;
	return SIM_OK;
}

struct sim_function *sim_module_function(struct sim_module *module, const char *name)
{
	struct sim_function *function = module->functions;

	while (function && strcmp(function->name, name))
		function = function->next;
	/* Compressed code is not read here (TensorFlow's own kernels): what is asked for is taken to be there. */
	if (!function && !module->cubin && !strstr(name, "..") && (module->image_size == 0 || module->is_sealed))
		function = add_function(module, name, strlen(name));
	return function;
}

struct sim_variable *sim_module_variable(struct sim_module *module, const char *name)
{
	struct sim_variable *variable = module->variables;

	while (variable && strcmp(variable->name, name))
		variable = variable->next;
	return variable;
}
