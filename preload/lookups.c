/* SPDX-License-Identifier: Apache-2.0 */
/* The hook of dlsym; see preload/lookups.h. */
#include "preload/lookups.h"

#include "preload/cupti.h"
#include "preload/dynamic.h"
#include "preload/real.h"

#include <stddef.h>

#if defined(__x86_64__)
__asm__(".section .text.dlsym, \"ax\", @progbits\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call tfp_lookup_of\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	"	.size dlsym, .-dlsym\n"
	".text\n");
#elif defined(__aarch64__)
__asm__(".section .text.dlsym, \"ax\", @progbits\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_def_cfa_offset 32\n"
	"	.cfi_offset 29, -32\n"
	"	.cfi_offset 30, -24\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	bl tfp_lookup_of\n"
	"	mov x16, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"	.cfi_def_cfa_offset 0\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	"	.size dlsym, .-dlsym\n"
	".text\n");
#else
#error "a jump that keeps the return address is wanted here"
#endif

/* Where no real one is known: a libc whose tables we cannot read. */
static void *none(void *object, const char *name)
{
	(void)object, (void)name;
	return NULL;
}

static int is_of_cupti(const char *name)
{
	static const char prefix[] = "cupti";

	for (size_t i = 0; i + 1 < sizeof prefix; i++)
		if (name[i] != prefix[i])
			return 0;
	return 1;
}

__attribute__((used, visibility("hidden"))) void *tfp_lookup_of(void *object, const char *name)
{
	struct tfp_dynamic unused;
	void *real = NULL;

	(void)object;
	if (tfp_resolve() == 0)
		real = *(void **)(void *)&tfp_real.dlsym;
	if (!real) /* the lookup of our real functions is under way */
		real = tfp_dynamic_behind(&unused, "dlsym");
	if (name && is_of_cupti(name))
		tfp_cupti_sign(name);
	return real ? real : (void *)&none;
}
