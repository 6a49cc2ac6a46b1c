/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a log or a file of another profiler, through all of tfprof-reduce: analyses, tables, formats.
 *
 * Rule: the program's own main runs, with words of a user; which ones the input's bytes choose. Its exit leads back here, so what it
 * then had in hand is not given back: memory that leaks is not looked for.
 */
#include "test/fuzz/input.h"

#include <setjmp.h>

#define WORDS_MOST 12

int reduce_main(int count, char **words); /* main of reducer/main.c */
void __wrap_exit(int status);
_Noreturn void __real_exit(int status);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static jmp_buf back;
static int is_inside;

void __wrap_exit(int status)
{
	if (is_inside)
		longjmp(back, 1);
	__real_exit(status);
}

/* Behind a last -o stands a folder, the environment's REPORT_FUZZ_OUT. */
static const char *const ways[][WORDS_MOST] = {
	{"-t", "all", "-f", "json"},
	{"-t", "all", "--top=0"},
	{"-t", "all", "--top=3", "--step=1-3"},
	{"-f", "html"},
	{"-f", "perfetto"},
	{"-f", "xplane", "-o"},
	{"-f", "chrome"},
	{"-f", "kineto", "-o"},
	{"-f", "pprof"},
	{"-f", "folded"},
};
#define WAYS (sizeof ways / sizeof ways[0])

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MOST + 6] = {"tfprof-reduce", "-j1"}, *folder = getenv("REPORT_FUZZ_OUT");
	const char *const *way = ways[crc32c(data, size) % WAYS];
	int count = 2;

	while (*way)
		words[count++] = (char *)*way++;
	if (strcmp(words[count - 1], "-o") == 0) {
		words[count++] = folder ? folder : "/dev/null";
	} else {
		words[count++] = "-o";
		words[count++] = "/dev/null";
	}
	words[count++] = (char *)input_file(data, size);
	is_inside = 1;
	if (setjmp(back) == 0)
		reduce_main(count, words);
	is_inside = 0;
	return 0;
}
