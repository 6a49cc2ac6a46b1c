/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reducer/symbols: this very program is the module that is looked up.
 *
 * Rule: lines are compared with __LINE__; nothing depends on the machine's other debug information.
 */
#include "reducer/symbols/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HERE(name) static const unsigned name = __LINE__

/* What the loader knows of this program. */
struct self {
	char path[4096];
	uintptr_t bias;
	const unsigned char *build_id;
	size_t build_id_length;
};

static uint32_t wanted_location(struct symbols *symbols, uint32_t module, uint64_t address, bool is_return)
{
	uint32_t location = symbols_location(symbols, module, address, is_return);

	symbols_want(symbols, location);
	return location;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self *self = context;

	(void)size;
	self->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *note = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const char *end = note + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		while (note + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *header = (const void *)note;
			const char *name = note + sizeof(*header), *data = name + (header->n_namesz + 3) / 4 * 4;
			if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
				self->build_id = (const unsigned char *)data;
				self->build_id_length = header->n_descsz;
			}
			note = data + (header->n_descsz + 3) / 4 * 4;
		}
	}
	return 1; /* the first object is the program */
}

static struct self self_find(void)
{
	struct self self = {0};
	ssize_t length = readlink("/proc/self/exe", self.path, sizeof(self.path) - 1);

	assert_true(length > 0);
	dl_iterate_phdr(look_at_object, &self);
	return self;
}

static struct symbols_module self_module(const struct self *self)
{
	return (struct symbols_module){.path = self->path, .path_length = strlen(self->path), .build_id = self->build_id,
				       .build_id_length = self->build_id_length};
}

#if defined(__x86_64__)
#define ADDRESS_AFTER "lea 1f(%%rip), %0\n1:"
#else
#define ADDRESS_AFTER "adr %0, 1f\n1:"
#endif

static uintptr_t inner_address, outer_calls;
void test_outer_function(void);

static inline __attribute__((always_inline)) void inlined_function(void)
{
	__asm__ volatile(ADDRESS_AFTER : "=r"(inner_address));
}
HERE(after_inner);

__attribute__((noinline)) void test_outer_function(void)
{
	inlined_function();
	outer_calls++;
}
HERE(after_outer);

static void test_inlined_frames(void **state)
{
	struct self self = self_find();
	struct symbols_module module = self_module(&self);
	struct symbols *symbols = symbols_make(&(struct symbols_options){0});
	uint32_t location;
	struct symbol_frame frame;

	(void)state;
	test_outer_function();
	location = wanted_location(symbols, symbols_module(symbols, &module), inner_address - self.bias, true);
	assert_int_equal(location, wanted_location(symbols, symbols_module(symbols, &module), inner_address - self.bias, true));
	symbols_resolve(symbols);
	assert_int_equal(symbols_frame_count(symbols, location), 2);
	frame = symbols_frame(symbols, location, 0);
	assert_string_equal(frame.function, "inlined_function");
	assert_true(frame.is_inlined && frame.is_named && !frame.is_near);
	assert_int_equal(frame.line, after_inner - 2);
	assert_non_null(strstr(frame.file, "symbols_test.c"));
	frame = symbols_frame(symbols, location, 1);
	assert_string_equal(frame.function, "test_outer_function");
	assert_false(frame.is_inlined);
	assert_int_equal(frame.line, after_outer - 3);
	assert_null(symbols_module_problem(symbols, 1));
	symbols_free(symbols);
}

/* What is printed for an address of a module that cannot be used, and the reason. */
static void assert_unnamed(const struct symbols_module *module, const char *function, const char *reason)
{
	struct symbols *symbols = symbols_make(&(struct symbols_options){0});
	uint32_t location = wanted_location(symbols, symbols_module(symbols, module), 0x1234, true);
	struct symbol_frame frame;

	symbols_resolve(symbols);
	assert_int_equal(symbols_frame_count(symbols, location), 1);
	frame = symbols_frame(symbols, location, 0);
	assert_string_equal(frame.function, function);
	assert_false(frame.is_named);
	assert_non_null(symbols_module_problem(symbols, 1));
	assert_non_null(strstr(symbols_module_problem(symbols, 1), reason));
	symbols_free(symbols);
}

static void test_modules_that_cannot_be_used(void **state)
{
	struct self self = self_find();
	struct symbols_module other = self_module(&self);
	unsigned char wrong[20] = {0};

	(void)state;
	other.build_id = wrong;
	other.build_id_length = sizeof(wrong);
	assert_unnamed(&other, "symbols_test+0x1234", "another build");
	assert_unnamed(&(struct symbols_module){.path = "/nowhere/libgone.so", .path_length = 19}, "libgone.so+0x1234", "No such file");
	assert_unnamed(&(struct symbols_module){.path = "/dev/null", .path_length = 9}, "null+0x1234", "no longer an ELF file");
	assert_unnamed(&(struct symbols_module){.path = "[vdso]", .path_length = 6}, "[vdso]+0x1234", "made by the kernel");
	assert_unnamed(&(struct symbols_module){.path = "", .path_length = 0}, "0x1234", "not known");
}

static void test_address_of_no_module(void **state)
{
	struct symbols *symbols = symbols_make(&(struct symbols_options){0});
	uint32_t location = wanted_location(symbols, 0, 0x7fff1000, false);

	(void)state;
	symbols_resolve(symbols);
	assert_string_equal(symbols_frame(symbols, location, 0).function, "0x7fff1000");
	assert_string_equal(symbols_frame(symbols, 0, 0).function, "?");
	assert_string_equal(symbols_frame(symbols, 99, 0).function, "?");
	symbols_free(symbols);
}

static unsigned char *read_whole(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	struct stat status;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	bytes = malloc((size_t)status.st_size);
	assert_non_null(bytes);
	*length = fread(bytes, 1, (size_t)status.st_size, file);
	fclose(file);
	return bytes;
}

/* Damages copies of this program; whatever comes back, this process lives and every address has a frame. */
static void test_damaged_modules(void **state)
{
	struct self self = self_find();
	char path[] = "/tmp/symbols_test.XXXXXX";
	int descriptor = mkstemp(path);
	size_t length;
	unsigned char *bytes = read_whole(self.path, &length);
	struct symbols_module module = {.path = path, .path_length = strlen(path)};
	uint64_t random = 1;

	(void)state;
	assert_true(descriptor >= 0);
	for (int round = 0; round < 40; round++) {
		struct symbols *symbols = symbols_make(&(struct symbols_options){0});
		unsigned char *copy = malloc(length);
		uint32_t location[64];
		assert_non_null(copy);
		memcpy(copy, bytes, length);
		for (int i = 0; i < 200; i++) {
			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			copy[64 + (random >> 33) % (length - 64)] ^= (unsigned char)(random >> 24);
		}
		assert_int_equal(pwrite(descriptor, copy, length, 0), length);
		assert_int_equal(ftruncate(descriptor, (off_t)(round % 4 == 3 ? length / 2 : length)), 0);
		for (size_t i = 0; i < 64; i++)
			location[i] = wanted_location(symbols, symbols_module(symbols, &module), i * length / 64, i & 1);
		symbols_resolve(symbols);
		for (size_t i = 0; i < 64; i++) {
			assert_true(symbols_frame_count(symbols, location[i]) >= 1);
			assert_non_null(symbols_frame(symbols, location[i], 0).function);
		}
		symbols_free(symbols);
		free(copy);
	}
	free(bytes);
	close(descriptor);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_frames),
		cmocka_unit_test(test_modules_that_cannot_be_used),
		cmocka_unit_test(test_address_of_no_module),
		cmocka_unit_test(test_damaged_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
