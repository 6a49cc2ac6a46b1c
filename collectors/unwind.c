/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles unwind rules by asking libunwind's remote interface about a process of one frame whose registers and stack
 * are names, not values: sp, fp and every word read from the stack are addresses in regions of their own.
 *
 * Rule: libunwind sees the object's call frame information and nothing else; a step of its arithmetic that ends in
 * region "fp" at distance 16 says "fp + 16" for every real stack. Expressions (PLT entries, realigned frames, signal
 * frames) come out the same way; what does not fit a rule is no rule.
 *
 *   region   2 sp   4 fp   6 link register   16.. words read from the stack   32.. other registers   (times 2^40, from regions_from on)
 */
#include "collectors/unwind.h"

#include "writer/sys.h"

#include <errno.h>
#include <libunwind.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "writer/poison.h"

/* Names that scripts/build-unwind gives to libunwind's inside, and what its inside calls instead of libc. */
unw_addr_space_t tfp_libunwind_space(unw_accessors_t *accessors);
int tfp_libunwind_step(unw_cursor_t *cursor);
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
					      unw_proc_info_t *info, int need_unwind_info, void *argument);
extern unw_word_t tfp_libunwind_near, tfp_libunwind_near_bytes; /* libunwind reads the bytes of this range itself */
void *tfp_libunwind_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, long offset);
int tfp_libunwind_munmap(void *address, size_t bytes);

#define REGION_BITS 40 /* regions are 2^40 apart: no frame is that large */
#define REGION_BYTES (UINT64_C(1) << REGION_BITS)
#define REGION(number) (regions_from + (uint64_t)(number) * REGION_BYTES)
#define REGION_OF(address) (((address) - regions_from + REGION_BYTES / 2) >> REGION_BITS) /* offsets may be negative */
enum region { IN_SP = 2, IN_FP = 4, IN_LINK = 6, IN_WORDS = 16, IN_OTHERS = 32, REGIONS = 48 };
#define REGIONS_HIGH (64 * REGION_BYTES)
#define LOADER_ENTRY 128 /* bytes; glibc 2.31 to 2.41 need 48 to 96 */
#define WORDS 16 /* words of the stack that one rule may read */

/* By which register the code address is asked for before a step, and the return address read after one. */
#if defined __x86_64__
#define REGISTER_PC UNW_X86_64_RIP
#define REGISTER_RETURN UNW_X86_64_RIP
#define REGISTER_FP UNW_X86_64_RBP
#define REGISTER_LINK (-1)
#else
#define REGISTER_PC UNW_AARCH64_PC
#define REGISTER_RETURN UNW_AARCH64_X30
#define REGISTER_FP UNW_AARCH64_X29
#define REGISTER_LINK UNW_AARCH64_X30
#endif

/*
 * 0 or REGIONS_HIGH: where the object is not, or it would be taken for a stack. In the old layout of an address space (setarch -L, a stack
 * without limit) libraries lie in the lower ones. Written by each caller of tfp_unwind_compile, of whom there is one at a time.
 */
static uint64_t regions_from;

struct question {
	const struct tfp_image *image;
	uint64_t ip;
	uint64_t words[WORDS]; /* addresses (in regions) of the words read, in the order of their regions */
	int word_count;
	int is_found; /* libunwind found call frame information */
	uint64_t function, function_end; /* which it is of */
};

void *tfp_libunwind_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, long offset)
{
	void *start = tfp_pages_get(bytes, 0);

	(void)address;
	(void)protection;
	(void)flags;
	(void)descriptor;
	(void)offset;
	return start ? start : MAP_FAILED;
}

int tfp_libunwind_munmap(void *address, size_t bytes)
{
	tfp_pages_put(address, bytes);
	return 0;
}

int tfp_image_has(const struct tfp_image *image, uintptr_t address, uintptr_t bytes)
{
	for (int i = 0; i < TFP_IMAGE_RANGES; i++)
		if (address >= image->readable[i].start && address < image->readable[i].end &&
		    bytes <= image->readable[i].end - address)
			return 1;
	return 0;
}

/* Bytes of `image` that tfp_image_has. 0: they are gone. */
static int load(const struct tfp_image *image, void *to, uintptr_t address, size_t bytes)
{
	return tfp_far_read(image->far, to, address, bytes);
}

static int is_stack_region(uint64_t region)
{
	return region == IN_SP || region == IN_FP || (region >= IN_WORDS && region < IN_WORDS + WORDS);
}

/*
 * Whether the word can be read. libunwind reads byte by byte, hundreds of them an address, nearly all in one range: what it reads
 * there next it does not ask for.
 */
static int read_image(const struct tfp_image *image, uintptr_t address)
{
	for (int i = 0; i < TFP_IMAGE_RANGES && image->readable[i].end; i++) {
		uintptr_t start = image->readable[i].start, end = image->readable[i].end;

		if (address >= start && address < end && end - address >= 8) {
			tfp_libunwind_near = start;
			tfp_libunwind_near_bytes = image->far ? 0 : end - start;
			return 1;
		}
	}
	return 0;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int is_write, void *argument)
{
	struct question *question = argument;

	(void)space;
	if (is_write)
		return -UNW_EINVAL;
	if (read_image(question->image, address))
		return load(question->image, value, address, sizeof(*value)) ? 0 : -UNW_EINVAL;
	if (!is_stack_region(REGION_OF(address)))
		return -UNW_EINVAL;
	for (int i = 0; i < question->word_count; i++)
		if (question->words[i] == address) {
			*value = REGION(IN_WORDS + i);
			return 0;
		}
	if (question->word_count == WORDS)
		return -UNW_ENOMEM;
	*value = REGION(IN_WORDS + question->word_count);
	question->words[question->word_count++] = address;
	return 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int is_write, void *argument)
{
	struct question *question = argument;

	(void)space;
	if (is_write)
		return -UNW_EREADONLYREG;
	if (number == REGISTER_PC)
		*value = question->ip;
	else if (number == UNW_TDEP_SP)
		*value = REGION(IN_SP);
	else if (number == REGISTER_FP)
		*value = REGION(IN_FP);
	else if (number == REGISTER_LINK)
		*value = REGION(IN_LINK);
	else
		*value = REGION(IN_OTHERS + (number & 15)); /* which one does not matter: no rule counts from it */
	return 0;
}

static int access_float(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int is_write, void *argument)
{
	(void)space;
	(void)number;
	(void)value;
	(void)is_write;
	(void)argument;
	return -UNW_EBADREG;
}

static int dynamic_list(unw_addr_space_t space, unw_word_t *list, void *argument)
{
	(void)space;
	(void)list;
	(void)argument;
	return -UNW_ENOINFO;
}

static void put_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space;
	(void)info;
	(void)argument;
}

/* Bytes of a pointer of this encoding (DW_EH_PE_*, LSB core 5.0, 10.5.1); 0 = of a kind that linkers do not write. */
static unsigned encoded_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x03: /* udata4 */
	case 0x0b: /* sdata4 */
		return 4;
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	}
	return 0;
}

/* Searches the sorted table of .eh_frame_hdr: u8 version, three u8 encodings, .eh_frame, count, table (LSB 10.6.2). */
static int find_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need, void *argument)
{
	struct question *question = argument;
	const struct tfp_image *image = question->image;
	unw_dyn_info_t table;
	unsigned pointer_bytes;
	uint8_t header[4];
	uint32_t entries;
	uintptr_t count;
	int result;

	if (!tfp_image_has(image, image->frames, 16) || !load(image, header, image->frames, sizeof(header)) || header[0] != 1)
		return -UNW_ENOINFO;
	pointer_bytes = encoded_bytes(header[1]);
	/* 0x3b: pairs of sdata4 relative to this header; count as udata4. Every linker writes these. */
	if (!pointer_bytes || header[2] != 0x03 || header[3] != 0x3b)
		return -UNW_ENOINFO;
	count = image->frames + 4 + pointer_bytes;
	if (!load(image, &entries, count, sizeof(entries)))
		return -UNW_ENOINFO;
	tfp_fill(&table, 0, sizeof(table));
	table.start_ip = image->start;
	table.end_ip = image->end;
	table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	table.u.rti.segbase = image->frames;
	table.u.rti.table_data = count + 4;
	table.u.rti.table_len = entries;
	if (!tfp_image_has(image, table.u.rti.table_data, 8 * (uintptr_t)table.u.rti.table_len))
		return -UNW_ENOINFO;
	result = UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need, argument);
	question->is_found = result >= 0;
	question->function = info->start_ip;
	question->function_end = info->end_ip;
	return result;
}

/* Describes `address` as base + 8 * words; 0 = it cannot be. */
static int describe(uint64_t address, uint64_t cfa, uint16_t *base, int16_t *words)
{
	uint64_t region = REGION_OF(address);
	int64_t offset;
	unsigned from;

	if (region == REGION_OF(cfa)) {
		from = TFP_BASE_CFA;
		offset = (int64_t)(address - cfa);
	} else if (region == IN_SP || region == IN_FP) {
		from = region == IN_SP ? TFP_BASE_SP : TFP_BASE_FP;
		offset = (int64_t)(address - REGION(region));
	} else {
		return 0;
	}
	if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX)
		return 0;
	*base = (uint16_t)from;
	*words = (int16_t)(offset / 8);
	return 1;
}

static int describe_cfa(const struct question *question, uint64_t cfa, struct tfp_rule *rule)
{
	uint64_t region = REGION_OF(cfa);
	int64_t after = 0;

	if (region >= IN_WORDS && region < IN_WORDS + WORDS) {
		after = (int64_t)(cfa - REGION(region));
		cfa = question->words[region - IN_WORDS];
		region = REGION_OF(cfa);
		rule->is_indirect = 1;
	}
	if ((region != IN_SP && region != IN_FP) || after < INT16_MIN || after > INT16_MAX)
		return 0;
	rule->is_cfa_fp = region == IN_FP;
	rule->cfa_after = (int16_t)after;
	rule->cfa = (int32_t)(cfa - REGION(region));
	return rule->cfa == (int64_t)(cfa - REGION(region));
}

/* The address of the word whose name is `value`; 0 = it is not the name of a word. */
static uint64_t word_named(const struct question *question, uint64_t value)
{
	for (int i = 0; i < question->word_count; i++)
		if (value == REGION(IN_WORDS + i))
			return question->words[i];
	return 0;
}

/* Fills the rule from the registers after the step; 0 = it does not fit one. */
static int describe_step(const struct question *question, unw_cursor_t *cursor, struct tfp_rule *rule)
{
	unw_word_t cfa, ra, fp;
	uint16_t base = TFP_BASE_KEPT;
	int16_t words = 0;

	if (unw_get_reg(cursor, UNW_TDEP_SP, &cfa) < 0 || unw_get_reg(cursor, REGISTER_RETURN, &ra) < 0)
		return 0;
	if (!describe_cfa(question, cfa, rule))
		return 0;
	if (ra != REGION(IN_LINK) && !describe(word_named(question, ra), cfa, &base, &words))
		return 0;
	rule->ra_base = base;
	rule->ra_words = words;
	base = TFP_BASE_KEPT;
	words = 0;
	/* Said to be undefined (no register): nobody further out can count on it. */
	if (unw_get_reg(cursor, REGISTER_FP, &fp) < 0)
		fp = REGION(IN_FP);
	if (fp != REGION(IN_FP) && !describe(word_named(question, fp), cfa, &base, &words))
		return 0;
	rule->fp_base = base;
	rule->fp_words = words;
	return 1;
}

/*
 * The code to which a signal handler returns calls rt_sigreturn; the kernel has laid the interrupted registers out above
 * the stack pointer. Recognised by its instructions, as gdb does: call frame information for it is missing on aarch64.
 */
static int is_signal_return(const struct tfp_image *image, uintptr_t pc)
{
#if defined __x86_64__
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15, %rax; syscall */
#else
	static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* mov x8, #139; svc #0 */
#endif
	uint8_t found[sizeof(code)];

	return tfp_image_has(image, pc, sizeof(code)) && load(image, found, pc, sizeof(code)) && tfp_same(found, code, sizeof(code));
}

static void signal_rule(struct tfp_rule *rule)
{
#if defined __x86_64__
	size_t context = 0; /* the return address is popped: sp points at the ucontext_t */
	size_t sp = context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]);
	size_t fp = context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]);
	size_t pc = context + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
#else
	size_t context = 128; /* sizeof(siginfo_t), which lies first */
	size_t sp = context + offsetof(ucontext_t, uc_mcontext.sp);
	size_t fp = context + offsetof(ucontext_t, uc_mcontext.regs[29]);
	size_t pc = context + offsetof(ucontext_t, uc_mcontext.pc);
#endif
	rule->kind = TFP_RULE_STEP;
	rule->is_signal = 1;
	rule->is_indirect = 1;
	rule->cfa = (int32_t)sp;
	rule->ra_base = TFP_BASE_SP;
	rule->ra_words = (int16_t)(pc / 8);
	rule->fp_base = TFP_BASE_SP;
	rule->fp_words = (int16_t)(fp / 8);
}

/* Lets libunwind take one step. */
static void ask(struct question *question, struct tfp_rule *rule)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_info,
		.put_unwind_info = put_info,
		.get_dyn_info_list_addr = dynamic_list,
		.access_mem = access_memory,
		.access_reg = access_register,
		.access_fpreg = access_float,
	};
	static unw_cursor_t cursor; /* 1 to 2 KiB; begun anew by each caller, of whom there is one at a time */
	int result;

	tfp_libunwind_near_bytes = 0; /* it was another image's */
	tfp_fill(rule, 0, sizeof(*rule));
	if (unw_init_remote(&cursor, tfp_libunwind_space(&accessors), question) < 0)
		return;
	result = tfp_libunwind_step(&cursor);
	if (result < 0 || !question->is_found)
		return;
	/* 0: the return address is said to be undefined. */
	if (result == 0)
		rule->kind = TFP_RULE_END;
	else if (describe_step(question, &cursor, rule))
		rule->kind = TFP_RULE_STEP;
}

/*
 * Whether `pc` is where the loader's entry code, which has no unwind information, called constructors from: the kernel jumps
 * there, so nobody called it. What follows it within LOADER_ENTRY bytes has information of its own, and is never asked about.
 */
static int is_loader_entry(const struct tfp_image *image, uintptr_t pc)
{
	uintptr_t base = getauxval(AT_BASE);

	if (base < image->start || base >= image->end)
		return 0;
	uintptr_t entry = base + ((const ElfW(Ehdr) *)base)->e_entry;
	return pc > entry && pc - entry <= LOADER_ENTRY;
}

static int is_in_regions(const struct tfp_image *image)
{
	return image->end > REGION(1) && image->start < REGION(REGIONS);
}

/* 0: the object lies where both are. */
static int choose_regions(const struct tfp_image *image)
{
	regions_from = 0;
	if (is_in_regions(image))
		regions_from = REGIONS_HIGH;
	return !is_in_regions(image);
}

uintptr_t tfp_unwind_function(const struct tfp_image *image, uintptr_t pc, uintptr_t *end)
{
	struct question question = { .image = image, .ip = pc };
	struct tfp_rule rule;

	if (!choose_regions(image))
		return 0;
	ask(&question, &rule);
	*end = question.function_end;
	return question.is_found && question.function < question.function_end &&
			       tfp_image_has(image, question.function, question.function_end - question.function) ?
		       question.function :
		       0;
}

void tfp_unwind_compile(const struct tfp_image *image, uintptr_t pc, int is_exact, struct tfp_rule *rule)
{
	struct question question = { .image = image, .ip = is_exact ? pc : pc - 1 };

	tfp_fill(rule, 0, sizeof(*rule));
	if (!is_exact && is_signal_return(image, pc)) {
		signal_rule(rule);
		return;
	}
	if (!choose_regions(image))
		return;
	ask(&question, rule);
	if (rule->kind == TFP_RULE_NONE && !is_exact) {
		/*
		 * Nothing covers the byte before: where a function begins here, nobody called from there. It is a return
		 * address that was made up (makecontext, starts of threads), and the stack ends.
		 */
		question = (struct question){ .image = image, .ip = pc };
		ask(&question, rule);
		tfp_fill(rule, 0, sizeof(*rule));
		if ((question.is_found && question.function == pc) || is_loader_entry(image, pc))
			rule->kind = TFP_RULE_END;
	}
}

void tfp_unwind_on_stack(void *top, void (*function)(void *argument), void *argument)
{
#if defined __x86_64__
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "callq *%[function]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(argument)
			 : [top] "r"(top), [function] "r"(function)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
			   "memory", "cc");
#else
	register void *x0 __asm__("x0") = argument;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[top]\n\t"
			 "blr %[function]\n\t"
			 "mov sp, x19"
			 : "+r"(x0)
			 : [top] "r"(top), [function] "r"(function)
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
			   "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18",
			   "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory",
			   "cc");
#endif
}
