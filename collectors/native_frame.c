/* SPDX-License-Identifier: Apache-2.0 */
/* Frame pointers by a function's first instructions; see collectors/native_frame.h. Instructions: Intel SDM volume 2. */
#include "collectors/native_frame.h"

#include "writer/sys.h"

#include "writer/poison.h"

#if defined __x86_64__

#define FIRST_BYTES 96    /* of a function, within which its frame is made */
#define LONGEST 24        /* bytes of an instruction, however odd, and what is looked at behind it */

/* How the frame stands after the instructions so far. */
struct making {
	int64_t bytes; /* of the stack below the frame pointer; -1: that is not set yet */
	int is_over; /* room was made; more is only behind a touch of it (-fstack-clash-protection) */
};

/* One instruction, as far as it is told apart. */
struct instruction {
	unsigned bytes; /* 0 = another kind: a branch, a call, or what is not known here */
	uint8_t rex, code, modrm;
	int is_two; /* 0f came before code */
	int32_t immediate;
};

/* Of ModRM, what follows it (SIB, displacement), itself counted. */
static unsigned operand_bytes(const uint8_t *at)
{
	unsigned mode = at[0] >> 6, base = at[0] & 7, bytes = 1;

	if (mode == 3)
		return 1;
	if (base == 4) {
		bytes++;
		if (mode == 0 && (at[1] & 7) == 5)
			bytes += 4;
	} else if (mode == 0 && base == 5) {
		bytes += 4;
	}
	return bytes + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* Bytes of the immediate behind an instruction with ModRM; -1: not one that stands between those that make a frame. */
static int immediate_bytes(const struct instruction *of, int is_short)
{
	static const uint8_t two[] = {0x10, 0x11, 0x28, 0x29, 0x57, 0x6e, 0x6f, 0x7f, 0xef, 0xb6, 0xb7, 0xbe, 0xbf};

	for (size_t i = 0; of->is_two && i < sizeof two; i++) /* moves and xor of vectors, moves that extend */
		if (of->code == two[i])
			return 0;
	if (of->is_two)
		return -1;
	switch (of->code) {
	case 0x83:
	case 0xc6:
		return 1;
	case 0x81:
	case 0xc7:
		return is_short ? 2 : 4;
	case 0x84:
	case 0x85:
	case 0x8d:
		return 0;
	}
	/* add, or, and, sub, xor, cmp of registers and memory; mov. */
	return (of->code & 0xfc) == 0x88 || (of->code < 0x40 && (of->code & 7) < 4) ? 0 : -1;
}

static int32_t read_immediate(const uint8_t *at, int bytes)
{
	int32_t value = 0;

	if (bytes == 1)
		return (int8_t)at[0];
	__builtin_memcpy(&value, at, (size_t)bytes);
	return value;
}

static struct instruction decode(const uint8_t *start)
{
	struct instruction of = {.bytes = 0};
	const uint8_t *at = start;
	int is_short = 0;

	for (; *at == 0x66 || *at == 0xf2 || *at == 0xf3 || *at == 0x64 || *at == 0x65; at++)
		is_short |= *at == 0x66;
	if ((*at & 0xf0) == 0x40)
		of.rex = *at++;
	of.is_two = *at == 0x0f;
	at += of.is_two;
	of.code = *at++;
	if (!of.is_two && (of.code & 0xf8) == 0x50) { /* push of a register */
		of.bytes = (unsigned)(at - start);
		return of;
	}
	if (!of.is_two && (of.code & 0xf8) == 0xb8) { /* mov of a constant */
		of.bytes = (unsigned)(at - start) + (of.rex & 8 ? 8 : is_short ? 2 : 4);
		return of;
	}
	if (of.is_two && of.code == 0x1e && *at == 0xfa) { /* endbr64 */
		of.bytes = (unsigned)(at - start) + 1;
		return of;
	}
	int immediate = immediate_bytes(&of, is_short);
	if (immediate < 0)
		return of;
	of.modrm = *at;
	at += operand_bytes(at);
	of.immediate = read_immediate(at, immediate);
	of.bytes = (unsigned)(at - start) + (unsigned)immediate;
	return of;
}

/* Whether it writes the stack pointer: its register field or, of a store to a register, the other one. */
static int writes_stack_pointer(const struct instruction *of)
{
	int register_is_stack = (of->modrm >> 3 & 7) == 4 && !(of->rex & 4);
	int other_is_stack = of->modrm >> 6 == 3 && (of->modrm & 7) == 4 && !(of->rex & 1);
	int is_load = of->code == 0x8b || of->code == 0x8d || (of->code < 0x40 && (of->code & 2));

	if (of->is_two || (of->code & 0xf8) == 0x50 || (of->code & 0xf8) == 0xb8)
		return 0;
	return is_load ? register_is_stack && of->code != 0x3b : other_is_stack && of->code != 0x39 && of->code != 0x84 && of->code != 0x85;
}

/* Takes one instruction; 0: the frame cannot be told. */
static int take(struct making *making, const struct instruction *of)
{
	int is_register = of->modrm >> 6 == 3;

	if (!of->is_two && (of->code & 0xf8) == 0x50 && !of->modrm) {
		making->bytes += making->bytes >= 0 ? 8 : 0;
		return 1;
	}
	/* mov %rsp, %rbp, in both its forms */
	if (of->rex == 0x48 && ((of->code == 0x89 && of->modrm == 0xe5) || (of->code == 0x8b && of->modrm == 0xec))) {
		making->bytes = 0;
		return 1;
	}
	/* sub $n, %rsp; add of what is below 0 */
	if (of->rex == 0x48 && (of->code == 0x83 || of->code == 0x81) && is_register && (of->modrm == 0xec || of->modrm == 0xc4)) {
		making->bytes += making->bytes < 0 ? 0 : of->modrm == 0xec ? of->immediate : -of->immediate;
		making->is_over = making->bytes >= 0;
		return of->modrm == 0xec ? of->immediate >= 0 : of->immediate <= 0;
	}
	return !writes_stack_pointer(of);
}

/*
 * Whether an instruction may begin there that moves the stack pointer by what is only known when it runs: and, sub or mov of a register or
 * memory, lea from others than the frame pointer. Any byte may be in the middle of another instruction: then the function is let be.
 */
static int moves_stack(const uint8_t *at)
{
	int to_other = at[2] >= 0xc0 && (at[2] & 7) == 4, to_register = (at[2] >> 3 & 7) == 4 && at[0] == 0x48;

	if (at[0] != 0x48 && at[0] != 0x4c)
		return 0;
	switch (at[1]) {
	case 0x21:
	case 0x29:
		return to_other;
	case 0x89:
		return to_other && !(at[0] == 0x48 && at[2] == 0xec); /* mov %rbp, %rsp */
	case 0x23:
	case 0x2b:
	case 0x8b:
		return to_register;
	case 0x8d:
		return to_register && at[2] != 0x65 && at[2] != 0xa5; /* lea n(%rbp), %rsp */
	case 0x81:
	case 0x83:
		return at[2] == 0xe4;
	}
	return 0;
}

/* Whether a branch, a call, a return or what comes before one (pop, leave) begins there: what makes the frame stands before it. */
static int is_end_of_making(const uint8_t *at)
{
	while (*at == 0xf2 || *at == 0xf3 || (*at & 0xf0) == 0x40)
		at++;
	if (at[0] == 0x0f)
		return (at[1] & 0xf0) == 0x80;
	if (at[0] == 0xff)
		return (at[1] >> 3 & 7) == 2 || (at[1] >> 3 & 7) == 4;
	return (at[0] & 0xf0) == 0x70 || (at[0] & 0xf8) == 0x58 || at[0] == 0xc9 || at[0] == 0xe8 || at[0] == 0xe9 || at[0] == 0xeb ||
	       at[0] == 0xc2 || at[0] == 0xc3;
}

int64_t tfp_native_frame_bytes(const uint8_t *code, uint64_t size, uint64_t place)
{
	static const uint8_t touch[] = {0x48, 0x83, 0x0c, 0x24, 0x00}; /* orq $0, (%rsp) */
	struct making making = {.bytes = -1};

	for (uint64_t at = 0; at < FIRST_BYTES && at < place && at + LONGEST <= size && !making.is_over;) {
		struct instruction of = decode(code + at);
		if (!of.bytes && !is_end_of_making(code + at))
			return -1;
		if (!of.bytes)
			break;
		if (!take(&making, &of))
			return -1;
		at += of.bytes;
		making.is_over = making.is_over && !(at + LONGEST <= size && tfp_same(code + at, touch, sizeof touch));
	}
	for (uint64_t at = 0; making.bytes >= 0 && at + 3 <= size; at++)
		if (moves_stack(code + at))
			return -1;
	return making.bytes;
}

int tfp_native_is_behind_call(const uint8_t *address)
{
	if (address[-5] == 0xe8)
		return 1;
	/* call through a register or memory: ff with 2 in the middle of ModRM, whose operand ends here */
	for (unsigned back = 2; back < TFP_CALL_BYTES; back++)
		if (address[-(int)back] == 0xff && (address[1 - (int)back] >> 3 & 7) == 2 && operand_bytes(address + 1 - back) == back - 1)
			return 1;
	return 0;
}

#else

int64_t tfp_native_frame_bytes(const uint8_t *code, uint64_t size, uint64_t place)
{
	(void)code;
	(void)size;
	(void)place;
	return -1;
}

int tfp_native_is_behind_call(const uint8_t *address)
{
	(void)address;
	return 0;
}

#endif
