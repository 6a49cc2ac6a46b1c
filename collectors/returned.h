/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ functions that return an object (std::string, a Status, unique_ptr): the caller says where it is to be made.
 *
 * Rule: in C such a function has that place as its first parameter and returns it. On x86-64 that is how it is called; on
 * aarch64 the place comes in x8, which C can neither read nor set, and the arguments begin at x0: an entry puts them one
 * place further, and TFP_CALL_RETURNING puts them back. Arguments are at most four, each an integer or a pointer.
 */
#ifndef TFP_COLLECTORS_RETURNED_H
#define TFP_COLLECTORS_RETURNED_H

/*
 * TFP_RETURNING_ENTRY(name, body): what C++ calls by `name` is the C function `body`, of the same file and not static; both
 * are declared, with the same type. Return address and stack are the caller's. Behind it stands a semicolon.
 * TFP_CALL_RETURNING(function, result, ...): calls such a C++ function; void *.
 */
#if defined(__aarch64__)

/* hint 34: where branch targets are guarded (BTI), a call may land here. */
#define TFP_RETURNING_ENTRY(name, body) \
	__asm__(".pushsection .text\n" \
		".balign 4\n" \
		".globl " #name "\n" \
		".type " #name ", %function\n" #name ":\n" \
		".cfi_startproc\n" \
		"	hint	34\n" \
		"	mov	x4, x3\n" \
		"	mov	x3, x2\n" \
		"	mov	x2, x1\n" \
		"	mov	x1, x0\n" \
		"	mov	x0, x8\n" \
		"	b	" #body "\n" \
		".cfi_endproc\n" \
		".size " #name ", . - " #name "\n" \
		".popsection"); \
	extern __typeof__(body) name

/* collectors/returned.c. Not called with a variable number of arguments: they lie in x0 and up either way. */
__attribute__((visibility("hidden"))) void *tfp_call_returning(void *function, void *result, ...);

#define TFP_CALL_RETURNING(function, ...) tfp_call_returning(*(void **)(void *)&(function), __VA_ARGS__)

#else

#define TFP_RETURNING_ENTRY(name, body) extern __typeof__(body) name __attribute__((alias(#body)))
#define TFP_CALL_RETURNING(function, ...) (function)(__VA_ARGS__)

#endif

#endif
