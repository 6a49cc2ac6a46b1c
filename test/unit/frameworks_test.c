/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapters' looks at foreign memory: a layout counts only where all of it is as expected, whatever else is there.
 */
#include "collectors/opnames.h"
#include "collectors/pytorch_layout.h"
#include "collectors/tensorflow_prove.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

/* A RecordFunction as some PyTorch could lay it out, by words; what is planted differs from the good one in one thing. */
static struct fake {
	unsigned scope, sequence, async; /* words */
	int scope_byte;                  /* what the constructor stores */
	int64_t none;                    /* the number that stands for no sequence */
	uint64_t inputs;                 /* the words behind the sequence */
	uint64_t handle;
	unsigned changed;                /* bytes that set_async changes */
	unsigned bytes;                  /* written in all */
} fake;

static const struct fake good = {12, 25, 40, 7, -1, 0, 0, 1, 344};

static void construct(void *function, uint8_t scope)
{
	uint64_t *words = function;

	assert_int_equal(scope, 7);
	for (unsigned i = fake.bytes / 8; fake.bytes > 512 && i-- > 0;)
		words[i] = 1234567;
	words[0] = 0x7f0000001000;
	words[fake.scope - 1] = 5; /* the thread */
	words[fake.scope] = (uint64_t)fake.scope_byte;
	words[fake.sequence] = (uint64_t)fake.none;
	for (unsigned i = 1; i < 6; i++)
		words[fake.sequence + i] = fake.inputs;
	words[fake.async - 2] = 0;
	words[fake.async - 1] = fake.handle;
	words[fake.async] = 0xa5a5a5a5a5a5a500;
}

static void destroy(void *function)
{
	(void)function;
}

static void set_async(void *function)
{
	for (unsigned i = 0; i < fake.changed; i++)
		((uint8_t *)function)[(fake.async + i) * 8] ^= 1;
}

static uint64_t thread_id(void)
{
	return 5;
}

static const struct tfp_pytorch_api api = {
	.construct = construct, .destroy = destroy, .set_async = set_async, .thread_id = thread_id};

static struct tfp_pytorch_layout look(void)
{
	struct tfp_pytorch_layout layout;

	memset(&layout, 0xff, sizeof layout);
	tfp_pytorch_find_layout(&layout, &api);
	return layout;
}

/* 1.13's and 2.15's places, and any other that has the same order. */
static void layouts_are_found(void **state)
{
	static const struct {
		unsigned scope, sequence, async;
	} places[] = {{12, 25, 33}, {12, 25, 40}, {9, 20, 30}, {30, 60, 90}};

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		fake = good;
		fake.scope = places[i].scope;
		fake.sequence = places[i].sequence;
		fake.async = places[i].async;
		struct tfp_pytorch_layout layout = look();
		assert_true(layout.is_known);
		assert_int_equal(layout.scope, fake.scope * 8);
		assert_int_equal(layout.sequence, fake.sequence * 8);
		assert_int_equal(layout.inputs, fake.sequence * 8 + 8);
		assert_int_equal(layout.forward_thread, fake.async * 8 - 16);
		assert_int_equal(layout.is_async, fake.async * 8);
	}
}

static void planted_changes_are_seen(void **state)
{
	(void)state;
	fake = good, fake.scope_byte = 3; /* the scope is kept elsewhere */
	assert_false(look().is_known);
	fake = good, fake.none = 0; /* no -1 any more */
	assert_false(look().is_known);
	fake = good, fake.inputs = 77; /* something else behind the sequence */
	assert_false(look().is_known);
	fake = good, fake.handle = 9; /* something else before the flag */
	assert_false(look().is_known);
	fake = good, fake.changed = 0; /* the flag is not set that way */
	assert_false(look().is_known);
	fake = good, fake.changed = 2; /* or sets more than one byte */
	assert_false(look().is_known);
	fake = good, fake.bytes = 2040; /* far larger: what lies behind is not ours */
	assert_false(look().is_known);
	struct tfp_pytorch_layout layout;
	tfp_pytorch_find_layout(&layout, &(struct tfp_pytorch_api){.thread_id = thread_id});
	assert_false(layout.is_known);
}

static void texts_are_looked_at_without_faults(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char copy[8];

	(void)state;
	assert_true(page != MAP_FAILED);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	memcpy(page + 4090, "MatMul", 6);
	assert_true(tfp_prove_text(page + 4090, 6));
	assert_false(tfp_prove_text(page + 4090, 7)); /* ends in a page that is not there */
	assert_false(tfp_prove_text((const char *)(uintptr_t)16, 6));
	assert_false(tfp_prove_text(NULL, 6));
	assert_false(tfp_prove_text("a\1b", 3));
	assert_false(tfp_prove_text("a", TFP_PROVE_TEXT));
	assert_true(tfp_prove_text(NULL, 0));
	assert_int_equal(tfp_prove_read(copy, page + 4090, 6), 0);
	assert_int_equal(tfp_prove_read(copy, page + 4090, 8), -1);
	munmap(page, 4096);
}

/* A kind is believed after TFP_PROVE_MOST good ones, and never again after a bad one. */
static void proofs_end(void **state)
{
	struct tfp_proof proof = {0}, refuted = {0};
	int looks = 0;

	(void)state;
	for (int i = 0; i < TFP_PROVE_MOST + 10; i++)
		assert_true(TFP_PROVE(&proof, (looks++, 1)));
	assert_int_equal(looks, TFP_PROVE_MOST);
	assert_true(TFP_PROVE(&refuted, 1));
	assert_false(TFP_PROVE(&refuted, 0));
	assert_false(TFP_PROVE(&refuted, 1));
	assert_int_equal(refuted.is_refuted, 1);
}

static void lengths_stay_in_their_page(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	memset(page, 'x', 4095);
	for (size_t begin = 4040; begin < 4096; begin++)
		assert_int_equal(tfp_op_length(page + begin, 65536), 4095 - begin);
	assert_int_equal(tfp_op_length(page, 100), 100);
	munmap(page, 4096);
}

/* Names get their numbers, each its own, and keep them: also in a handler, and when more come than a thread remembers. */
static void names_keep_their_numbers(void **unused)
{
	enum { NAMES = 6000, THREADS = 2 };
	static struct tfp_state state;
	static struct tfp_thread threads[THREADS];
	static uint32_t numbers[NAMES];
	static uint64_t facts[1 << 17];
	char text[64];

	(void)unused;
	state.facts.base = (uint8_t *)facts;
	state.facts.room = sizeof facts;
	tfp_state = &state;
	for (unsigned round = 0; round < 6; round++) {
		struct tfp_thread *thread = &threads[round % THREADS];
		thread->depth = 1 + (round == 2); /* a handler looks names up without the thread's own table */
		for (unsigned i = 0; i < NAMES; i++) { /* in another order each time, more than the thread's own table holds */
			unsigned which = (i * (2 * round + 1)) % NAMES;
			int length = snprintf(text, sizeof text, "model/dense_%u/MatMul:MatMul", which);
			uint32_t number = tfp_op_name(thread, text, (size_t)length);
			assert_true(number > 0);
			assert_true(!numbers[which] || numbers[which] == number);
			numbers[which] = number;
			assert_int_equal(tfp_op_name(thread, text, (size_t)length), number);
		}
	}
	for (unsigned i = 0; i < NAMES; i++)
		for (unsigned j = i + 1; j < NAMES; j++)
			if (numbers[i] == numbers[j])
				fail_msg("names %u and %u share number %u", i, j, numbers[i]);
	tfp_state = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_found),
		cmocka_unit_test(planted_changes_are_seen),
		cmocka_unit_test(texts_are_looked_at_without_faults),
		cmocka_unit_test(proofs_end),
		cmocka_unit_test(lengths_stay_in_their_page),
		cmocka_unit_test(names_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
