/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of C++ functions that return an object; see collectors/returned.h. */
#include "collectors/returned.h"

#include "writer/poison.h"

#if defined(__aarch64__)
/* x16: the register by which a guarded branch may reach the begin of a function. */
__asm__(".pushsection .text\n"
	".balign 4\n"
	".globl tfp_call_returning\n"
	".hidden tfp_call_returning\n"
	".type tfp_call_returning, %function\n"
	"tfp_call_returning:\n"
	".cfi_startproc\n"
	"	hint	34\n"
	"	mov	x16, x0\n"
	"	mov	x8, x1\n"
	"	mov	x0, x2\n"
	"	mov	x1, x3\n"
	"	mov	x2, x4\n"
	"	mov	x3, x5\n"
	"	br	x16\n"
	".cfi_endproc\n"
	".size tfp_call_returning, . - tfp_call_returning\n"
	".popsection");
#endif
