/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of reading cubins: one made by hand gives its counts, and none of its cut, bent or random versions is read
 * outside its bytes. With file names as arguments it prints what it reads: test/cases/gpu-cubin compares that with NVIDIA's
 * disassembler.
 */
#include "collectors/cubin.h"
#include "writer/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

#define IMAGE_BYTES 1024

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
	memcpy(at, &value, bytes);
}

static void put_section(uint8_t *image, int index, uint32_t name, uint32_t type, uint64_t from, uint64_t bytes)
{
	uint8_t *at = image + 512 + index * 64;

	put(at, name, 4);
	put(at + 4, type, 4);
	put(at + 24, from, 8);
	put(at + 32, bytes, 8);
}

/* Two functions: "mm" with 3 instructions, 2 of them HMMA (operation 0x3c), and "hmma_gemm" with one, an addition. */
static void make_image(uint8_t *image, uint32_t architecture)
{
	static const char names[] = "\0.text.mm\0.text.hmma_gemm\0.shstrtab";

	memset(image, 0, IMAGE_BYTES);
	memcpy(image, "\177ELF\2\1\1\101\10", 9);
	put(image + 18, 190, 2);
	put(image + 40, 512, 8);
	put(image + 48, architecture << 8 | 4, 4);
	put(image + 58, 64, 2);
	put(image + 60, 4, 2);
	put(image + 62, 3, 2);
	put(image + 64, 0x7223c, 8);
	put(image + 80, 0x7220 | 0x20, 8);
	put(image + 96, 0x7a23c, 8);
	put(image + 128, 0x7210, 8);
	memcpy(image + 256, names, sizeof names);
	put_section(image, 1, 1, 1, 64, 48);
	put_section(image, 2, 10, 1, 128, 16);
	put_section(image, 3, 26, 3, 256, sizeof names);
}

struct seen {
	int count;
	char names[8][64];
	struct tfp_cubin_function functions[8];
};

static int note(void *context, const struct tfp_cubin_function *function)
{
	struct seen *seen = context;

	if (seen->count == 8)
		return 1;
	snprintf(seen->names[seen->count], 64, "%.*s", (int)(function->length < 60 ? function->length : 60), function->name);
	seen->functions[seen->count++] = *function;
	return 0;
}

static void counts_by_function(void **unused)
{
	uint8_t image[IMAGE_BYTES];
	struct seen seen = {0};

	(void)unused;
	make_image(image, 90);
	assert_int_equal(tfp_cubin_scan(image, sizeof image, note, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.names[0], "mm");
	assert_int_equal(seen.functions[0].instructions, 3);
	assert_int_equal(seen.functions[0].matrix, 2);
	assert_int_equal(seen.functions[0].architecture, 90);
	assert_string_equal(seen.names[1], "hmma_gemm");
	assert_int_equal(seen.functions[1].matrix, 0);
}

static void other_images(void **unused)
{
	uint8_t image[IMAGE_BYTES];
	struct seen seen = {0};

	(void)unused;
	make_image(image, 60); /* instructions of 8 bytes with control words between: not read */
	assert_int_equal(tfp_cubin_scan(image, sizeof image, note, &seen), -1);
	make_image(image, 90);
	put(image + 18, 62, 2); /* x86-64 */
	assert_int_equal(tfp_cubin_scan(image, sizeof image, note, &seen), -1);
	make_image(image, 0);
	put(image + 7, 0x33, 1);
	put(image + 8, 7, 1);
	put(image + 48, 0x460546, 4); /* CUDA 12's way to say 7.0 */
	assert_int_equal(tfp_cubin_scan(image, sizeof image, note, &seen), 0);
	assert_int_equal(seen.functions[0].architecture, 70);
	assert_int_equal(seen.functions[0].matrix, 0); /* there that number is another operation */
	assert_int_equal(tfp_cubin_scan(NULL, 0, note, &seen), -1);
}

static void bent_images_are_read_within_their_bytes(void **unused)
{
	uint8_t image[IMAGE_BYTES];

	(void)unused;
	srand(42);
	for (int round = 0; round < 20000; round++) {
		size_t bytes = round % 3 ? IMAGE_BYTES : (size_t)rand() % IMAGE_BYTES;
		uint8_t *exact = malloc(bytes); /* so that a sanitizer sees a read past the end */
		struct seen seen = {0};
		make_image(image, 90);
		for (int i = 0; i < 1 + round % 5; i++)
			image[rand() % 2 ? 512 + rand() % 256 : rand() % IMAGE_BYTES] = (uint8_t)(rand() % 4 ? rand() : 0xff);
		memcpy(exact, image, bytes);
		tfp_cubin_scan(exact, bytes, note, &seen);
		free(exact);
	}
}

static int print(void *context, const struct tfp_cubin_function *function)
{
	(void)context;
	printf("%.*s\t%llu\t%llu\t%u\n", (int)function->length, function->name, (unsigned long long)function->instructions,
	       (unsigned long long)function->matrix, function->architecture);
	return 0;
}

static int print_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *image = malloc(64 << 20);
	size_t bytes = file ? fread(image, 1, 64 << 20, file) : 0;
	int result = tfp_cubin_scan(image, bytes, print, NULL);

	if (file)
		fclose(file);
	free(image);
	return result;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_by_function),
		cmocka_unit_test(other_images),
		cmocka_unit_test(bent_images_are_read_within_their_bytes),
	};

	if (argc > 1)
		return print_file(argv[1]) ? 1 : 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
