/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for; see reducer/tables/wait_kinds.h. */
#include "reducer/tables/wait_kinds.h"

#include "reducer/model/native_rows.h"

#include <elf.h>
#include <stddef.h>

static const struct {
	enum wait_kind kind;
	int x86_64, aarch64;
} calls[] = {
#define WAIT_KIND(symbol, name)
#define WAIT_CALL(symbol, x86_64, aarch64) {WAIT_##symbol, x86_64, aarch64},
#include "reducer/tables/wait_kinds.def"
#undef WAIT_KIND
#undef WAIT_CALL
};

static const char *const names[] = {
#define WAIT_KIND(symbol, name) name,
#define WAIT_CALL(symbol, x86_64, aarch64)
#include "reducer/tables/wait_kinds.def"
#undef WAIT_KIND
#undef WAIT_CALL
};

enum wait_kind wait_kind_of(uint32_t machine, uint16_t call)
{
	if (call == NATIVE_NO_CALL)
		return WAIT_PAGE;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((machine == EM_X86_64 && calls[i].x86_64 == call) || (machine == EM_AARCH64 && calls[i].aarch64 == call))
			return calls[i].kind;
	return WAIT_OTHER;
}

const char *wait_kind_name(enum wait_kind kind)
{
	return names[kind];
}
