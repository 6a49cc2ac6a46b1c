/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops as devices compute them; see collectors/tensorflow.h.
 *
 * An annotation says "name:Type" of each op, but TensorFlow makes that text anew each time, with four allocations, whether or not
 * anybody reads it. The kernel of the op holds both words, so where every device leads to us nobody has to ask for annotations.
 *
 *   OpKernel:  .. | name: address, length (or length, address) | type: the same | ..
 *
 * Rule: where the words lie is found in a kernel whose text TensorFlow tells, and held against that text for the first
 * TFP_PROVE_MOST; a device whose table of virtual functions does not lead to us, or XLA, which annotates what it compiles and
 * runs, brings the annotations back for good.
 */
#include "collectors/opnames.h"
#include "collectors/ranges.h"
#include "collectors/tensorflow_prove.h"
#include "collectors/tensorflow_trace.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define KERNEL_WORDS 96u /* of an OpKernel that are looked at; the words end at 40 in 2.17 to 2.21 */
#define TEXT_MOST TFP_TENSORFLOW_PAGE /* of a text that is held against them */
#define DEVICES 64u      /* made, and not looked at yet */
#define TABLE_WORDS 64u  /* of a table of virtual functions; Compute is the 24th entry */

static struct tfp_tensorflow_api api; /* by the one thread that attaches */
static uint32_t is_on;            /* devices lead to us */
static struct tfp_proof kernels;
static _Atomic uint32_t place; /* the word of a kernel where its name begins, 0 = not found yet */
static _Atomic uint32_t has_length_first;
static uint32_t compute_entry; /* of a table of virtual functions */
static struct {
	_Atomic uintptr_t made[DEVICES]; /* 0 = free */
	_Atomic uint32_t count;
} devices;

struct view {
	const char *text;
	size_t length;
};

/* The word that the kernel holds at `at`. */
static inline struct view view_at(const uint64_t *at, uint32_t is_length_first)
{
	return is_length_first ? (struct view){(const char *)(uintptr_t)at[1], (size_t)at[0]}
			       : (struct view){(const char *)(uintptr_t)at[0], (size_t)at[1]};
}

/* Whether a text is readable and what is expected. */
static int is_text(struct view view, const char *expected)
{
	char copy[64];

	for (size_t done = 0; done < view.length; done += sizeof copy) {
		size_t part = view.length - done < sizeof copy ? view.length - done : sizeof copy;
		if (tfp_prove_read(copy, view.text + done, part) || !tfp_same(copy, expected + done, part))
			return 0;
	}
	return 1;
}

/* Whether the four words at `at` are those of "name:Type". */
static int tells(const uint64_t *at, uint32_t is_length_first, const char *text, size_t length)
{
	struct view name = view_at(at, is_length_first), type = view_at(at + 2, is_length_first);

	return name.length && name.length < length && type.length == length - name.length - 1 && text[name.length] == ':' &&
	       is_text(name, text) && is_text(type, text + name.length + 1);
}

/* Finds the words in a kernel, or holds the ones that it has against its text. Each thread that looks finds the same. */
static int is_expected(const uint64_t *op, const char *text, size_t length)
{
	uint64_t words[4];

	if (!length || length >= TEXT_MOST)
		return 0;
	if (place)
		return !tfp_prove_read(words, op + place, sizeof words) && tells(words, has_length_first, text, length);
	for (uint32_t i = 1; i < KERNEL_WORDS && !tfp_prove_read(words, op + i, sizeof words); i++) {
		for (uint32_t is_length_first = 0; is_length_first < 2; is_length_first++) {
			if (!tells(words, is_length_first, text, length))
				continue;
			has_length_first = is_length_first;
			place = i;
			return 1;
		}
	}
	return 0;
}

static uint32_t entry_of(const void *const *table, const void *function)
{
	const void *entry = NULL;

	for (uint32_t i = 0; table && i < TABLE_WORDS && !tfp_prove_read(&entry, table + i, sizeof entry); i++)
		if (entry == function)
			return i;
	return 0;
}

int tfp_tensorflow_begin_compute(const struct tfp_tensorflow_api *found)
{
	api = *found;
	compute_entry = entry_of(api.pool_table, api.pool_compute);
	is_on = compute_entry && api.device_table && api.op_text && entry_of(api.device_table, api.device_compute) == compute_entry;
	return is_on != 0;
}

void tfp_tensorflow_device_made(const void *device)
{
	if (!is_on)
		return;
	for (uint32_t i = 0; i < DEVICES; i++) {
		uintptr_t none = 0;
		if (__atomic_compare_exchange_n((uintptr_t *)&devices.made[i], &none, (uintptr_t)device, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_RELAXED)) {
			devices.count++;
			return;
		}
	}
	tfp_tensorflow_annotate();
}

static int take_out(uint32_t i, uintptr_t device)
{
	int is_mine = __atomic_compare_exchange_n((uintptr_t *)&devices.made[i], &device, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);

	if (is_mine)
		devices.count--;
	return is_mine;
}

void tfp_tensorflow_device_gone(const void *device)
{
	for (uint32_t i = 0; devices.count && i < DEVICES; i++)
		if (devices.made[i] == (uintptr_t)device)
			take_out(i, (uintptr_t)device);
}

/* Whether what stands where Compute is leads to us, or to another device's. -1: the device is still being made. */
static int leads_here(const void *device)
{
	const void *const *table = NULL;
	const void *function = NULL;

	if (tfp_prove_read(&table, device, sizeof table) || tfp_prove_read(&function, table + compute_entry - 2, sizeof function))
		return 0;
	if (table == api.device_table + 2 || table == api.local_table + 2)
		return -1;
	return function == api.device_compute || function == api.pool_compute || function == api.xla_compute ||
	       (function && function == api.renamed_compute);
}

static __attribute__((noinline)) void look_at_devices(void)
{
	for (uint32_t i = 0; i < DEVICES; i++) {
		uintptr_t device = devices.made[i];
		int leads = device ? leads_here((const void *)device) : -1;
		if (leads >= 0 && take_out(i, device) && !leads)
			tfp_tensorflow_annotate();
	}
}

void tfp_tensorflow_look_at_devices(void)
{
	if (__builtin_expect(devices.count != 0, 0))
		look_at_devices();
}

/* A type that leads into XLA: a function as an op, or one of its own. */
static int is_of_xla(struct view type)
{
	if (type.length > 2 && type.text[0] == '_' && type.text[1] == '_')
		return 1;
	for (size_t i = 0; i + 3 <= type.length; i++)
		if (tfp_same(type.text + i, "Xla", 3))
			return 1;
	return 0;
}

/* The number of a name; the first time that it is met its type is looked at. */
static uint32_t number_of(struct tfp_thread *thread, const char *text, size_t length, size_t of_type)
{
	uint32_t number = tfp_op_name(thread, text, length);
	uint8_t *kind = tfp_op_kind(number);

	if (kind && __builtin_expect(*kind != TFP_OP_PLAIN, 0)) {
		*kind = is_of_xla((struct view){text + length - of_type, of_type}) ? TFP_OP_FIRST : TFP_OP_PLAIN;
		if (*kind == TFP_OP_FIRST)
			tfp_tensorflow_annotate();
	}
	return number;
}

/* "name:Type", as an annotation has it. */
static uint32_t name_of(struct tfp_thread *thread, const uint64_t *op)
{
	struct view name = view_at(op + place, has_length_first), type = view_at(op + place + 2, has_length_first);
	char *page = tfp_tensorflow_page(thread);

	if (!page || name.length + type.length >= TFP_TENSORFLOW_PAGE)
		return 0;
	tfp_copy(page, name.text, name.length);
	page[name.length] = ':';
	tfp_copy(page + name.length + 1, type.text, type.length);
	return number_of(thread, page, name.length + 1 + type.length, type.length);
}

/* While kernels are being proved, and for good where they are not as expected: TensorFlow makes the text, outside of our hook. */
static __attribute__((noinline)) int compute_by_text(const void *op, const void *context)
{
	struct tfp_thread *thread = tfp_self && tfp_self->is_ready == 1 ? tfp_self : tfp_thread_start();
	char *text = thread ? tfp_tensorflow_page(thread) : NULL;
	size_t length = text && !thread->op_pushed ? api.op_text(op, context, text, TEXT_MOST) : 0, of_type = 0;
	struct tfp_lane *lane;

	if (length && !kernels.is_refuted && !tfp_prove_note(&kernels, is_expected(op, text, length)))
		tfp_tensorflow_annotate();
	while (of_type < length && text[length - of_type - 1] != ':')
		of_type++;
	thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return 0;
	thread->op_pushed = 0;
	if (length)
		TFP_PUT(thread, lane, tfp_now(), op_begin, .name = number_of(thread, text, length, of_type), .source = TFP_FROM_annotation);
	tfp_thread_leave(thread);
	return length != 0;
}

int tfp_tensorflow_compute(const void *op, const void *context)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread;

	tfp_tensorflow_look_at_devices();
	if (!is_on)
		return 0;
	thread = tfp_self;
	if (thread && thread->is_ready == 1 && thread->op_eager)
		return 0; /* what belongs to the executor is annotated meanwhile */
	if (__builtin_expect(kernels.good < TFP_PROVE_MOST, 0))
		return compute_by_text(op, context);
	thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return 0;
	int is_told = thread->op_pushed;
	thread->op_pushed = 0;
	if (!is_told)
		TFP_PUT(thread, lane, tfp_now(), op_begin, .name = name_of(thread, op), .source = TFP_FROM_annotation);
	tfp_thread_leave(thread);
	return !is_told;
}
