/* SPDX-License-Identifier: Apache-2.0 */
/* The work of HLO modules in which computations call each other: summed up once each, however many ways lead to one. */
#include "reducer/import/hlo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LEVELS 16 /* of calls; each computation calls the next one CALLS times: 10^16 ways to the last */
#define CALLS 10

static void put_varint(struct text *to, uint64_t value)
{
	for (; value > 127; value >>= 7)
		text_char(to, (char)(value | 128));
	text_char(to, (char)value);
}

static void put_number(struct text *to, unsigned field, uint64_t value)
{
	put_varint(to, field << 3);
	put_varint(to, value);
}

/* A message, which is free again. */
static void put_message(struct text *to, unsigned field, struct text *message)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, message->length);
	text_put(to, message->bytes, message->length);
	text_free(message);
}

static void put_string(struct text *to, unsigned field, const char *string)
{
	struct text text = {0};

	text_string(&text, string);
	put_message(to, field, &text);
}

/* An instruction whose result are three floats; `called`: the id of a computation, 0 = none. */
static void put_instruction(struct text *to, uint64_t id, const char *opcode, uint64_t called)
{
	struct text instruction = {0}, shape = {0};

	put_string(&instruction, 1, opcode);
	put_string(&instruction, 2, opcode);
	put_number(&shape, 2, 11); /* F32 */
	put_number(&shape, 3, 3);
	put_message(&instruction, 3, &shape);
	put_number(&instruction, 35, id);
	if (called)
		put_number(&instruction, 38, called);
	put_message(to, 2, &instruction);
}

/* Computations 1 to LEVELS: each calls the next one, the last one `last` (0 = none) and adds. */
static struct hlo_module *make(uint64_t last)
{
	char path[] = "/tmp/hlo_test.XXXXXX";
	struct text proto = {0}, module = {0};
	struct diag_list diags = {0};
	int descriptor = mkstemp(path);

	put_string(&module, 1, "made");
	put_number(&module, 6, 1);
	for (uint64_t id = 1; id <= LEVELS; id++) {
		struct text computation = {0};
		for (uint64_t call = 0; call < CALLS && id < LEVELS; call++)
			put_instruction(&computation, id * 100 + call, "call", id + 1);
		if (id == LEVELS)
			put_instruction(&computation, id * 100, "add", 0);
		if (id == LEVELS && last)
			put_instruction(&computation, id * 100 + 1, "call", last);
		put_number(&computation, 5, id);
		put_message(&module, 3, &computation);
	}
	put_message(&proto, 1, &module);
	assert_true(descriptor >= 0 && write(descriptor, proto.bytes, proto.length) == (ssize_t)proto.length);
	close(descriptor);
	struct hlo_module *read = hlo_read(path, &diags);
	unlink(path);
	text_free(&proto);
	assert_int_equal(diags.count, 0);
	assert_non_null(read);
	return read;
}

static void test_many_ways(void **state)
{
	struct hlo_module *module = make(0);
	struct hlo_cost cost = hlo_cost(module, hlo_instruction(module, 100));

	(void)state;
	assert_true(cost.is_known);
	assert_int_equal(cost.flops, UINT64_C(300000000000000)); /* 3 * 10^14: one call of the second computation */
	hlo_free(module);
}

static void test_calls_itself(void **state)
{
	struct hlo_module *module = make(3);

	(void)state;
	assert_false(hlo_cost(module, hlo_instruction(module, 100)).is_known);
	assert_false(hlo_cost(module, hlo_instruction(module, LEVELS * 100 + 1)).is_known);
	assert_true(hlo_cost(module, hlo_instruction(module, LEVELS * 100)).is_known);
	hlo_free(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_ways), cmocka_unit_test(test_calls_itself)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
