/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload that compares: at each allocation of an unmodified program, the stack as collectors/stacks.h captures it and
 * as libgcc's unwinder sees it at that moment. libgcc reads call frame information with code of its own (libunwind's is
 * what is being tested), and is linked into the shim, so that the program's own is left alone.
 *
 * Rule: the log's tables are doubles of writer/store.h in plain memory. The result is one line a process, appended to
 * the file STACKSHIM_OUT: "stacks wrong incomplete deep cut nothing pid command ..." (see struct totals).
 *   STACKSHIM_EVERY=n   compares each n-th allocation (all are captured)    STACKSHIM_FRAMES=n   the setting STACKS
 *   STACKSHIM_SHOW=1    prints the first wrong stack of each process to stderr
 */
#include "collectors/stacks.h"
#include "test/stacks/flat.h"
#include "writer/format.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define MOST_PCS (1u << 20)
#define MOST_NODES (1u << 23)
#define MOST_FRAMES 4096
#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

struct totals {
	_Atomic uint64_t stacks;     /* compared */
	_Atomic uint64_t wrong;      /* a frame is not the one that libgcc sees, or there are more or fewer, unmarked */
	_Atomic uint64_t incomplete; /* marked as cut where libgcc goes on */
	_Atomic uint64_t deep;       /* the same, because of the setting STACKS */
	_Atomic uint64_t cut;        /* marked as cut where libgcc ends too */
	_Atomic uint64_t nothing;    /* no stack at all (id 0) */
};

/* Zero in a fork child, which begins anew. */
struct shim {
	_Atomic uint32_t phase; /* 0 new, 1 being made, 2 ready */
	struct tfp_stacks *stacks;
	_Atomic uint32_t pc_count, node_count, fact_count;
	_Atomic uint64_t calls;
	struct totals totals;
	struct tfp_pc *pcs;
	uint64_t *nodes;
	struct tfp_segments segments; /* over nodes */
	uint64_t every;
};

struct lane {
	struct tfp_stack_cache *cache;
	uint32_t count;
	uint64_t pcs[MOST_FRAMES]; /* of the oracle, innermost first; bit 0 of exact[] says that it is no return address */
	uint8_t exact[MOST_FRAMES];
};

static struct shim *shim; /* written once, by the first call in the first process */
static __thread struct lane *lanes __attribute__((tls_model("initial-exec")));
static __thread int depth __attribute__((tls_model("initial-exec")));

uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags)
{
	uint32_t index = ++shim->pc_count;

	if (index >= MOST_PCS)
		return 0;
	shim->pcs[index] = (struct tfp_pc){ pc, module, flags | TFP_PC_WRITTEN };
	return index;
}

struct tfp_segments *tfp_store_nodes(void)
{
	flat_segments(&shim->segments, shim->nodes, MOST_NODES);
	return &shim->segments;
}

uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index)
{
	uint32_t index = ++shim->node_count;

	if (index >= MOST_NODES)
		return 0;
	shim->nodes[index] = (uint64_t)parent << 32 | pc_index;
	return index;
}

int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	(void)tag;
	(void)fields;
	(void)count;
	shim->fact_count++;
	return 0;
}

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static int begin(void)
{
	uint32_t none = 0;

	if (!shim)
		shim = tfp_pages_get(sizeof(*shim), 1);
	if (!shim)
		return 0;
	if (shim->phase == 2)
		return 1;
	if (!__atomic_compare_exchange_n((uint32_t *)&shim->phase, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	shim->pcs = tfp_pages_get(MOST_PCS * sizeof(*shim->pcs), 0);
	shim->nodes = tfp_pages_get(MOST_NODES * sizeof(*shim->nodes), 0);
	shim->every = strtoull(setting("STACKSHIM_EVERY", "1"), NULL, 10);
	shim->stacks = tfp_stacks_make((uint32_t)strtoul(setting("STACKSHIM_FRAMES", "256"), NULL, 10));
	shim->phase = shim->stacks && shim->pcs && shim->nodes ? 2 : 3;
	return shim->phase == 2;
}

struct backtrace {
	struct lane *lane;
	uintptr_t from; /* frames before this return address are ours */
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
	struct backtrace *trace = argument;
	int exact = 0;
	uintptr_t ip = _Unwind_GetIPInfo(context, &exact);

	if (trace->from && ip != trace->from)
		return _URC_NO_REASON;
	trace->from = 0;
	if (!ip || trace->lane->count == MOST_FRAMES)
		return _URC_END_OF_STACK;
	trace->lane->pcs[trace->lane->count] = ip;
	trace->lane->exact[trace->lane->count++] = (uint8_t)exact;
	return _URC_NO_REASON;
}

static void show(struct lane *lane, uint32_t node, uint32_t cut)
{
	static _Atomic int shown;
	Dl_info info;

	if (!getenv("STACKSHIM_SHOW") || shown++)
		return;
	fprintf(stderr, "captured (cut %x):\n", cut);
	for (; node; node = (uint32_t)(shim->nodes[node] >> 32)) {
		struct tfp_pc *pc = &shim->pcs[(uint32_t)shim->nodes[node]];

		fprintf(stderr, "  %llx flags %x %s\n", (unsigned long long)pc->pc, pc->flags,
			dladdr((void *)pc->pc, &info) && info.dli_sname ? info.dli_sname : "");
	}
	fprintf(stderr, "libgcc:\n");
	for (uint32_t i = 0; i < lane->count; i++)
		fprintf(stderr, "  %llx %d %s\n", (unsigned long long)lane->pcs[i], lane->exact[i],
			dladdr((void *)lane->pcs[i], &info) && info.dli_sname ? info.dli_sname : "");
}

enum verdict { SAME, WRONG, NOTHING, DEEP, INCOMPLETE, CUT };

/* Against libgcc's stack, which is taken now. */
static enum verdict judge(struct lane *lane, uintptr_t from, uint32_t node, uint32_t cut)
{
	struct backtrace trace = { lane, from };
	uint32_t i = 0;
	struct tfp_pc *pc;

	lane->count = 0;
	_Unwind_Backtrace(add_frame, &trace);
	if (!node)
		return NOTHING;
	for (; node; node = (uint32_t)(shim->nodes[node] >> 32), i++) {
		pc = &shim->pcs[(uint32_t)shim->nodes[node]];
		if (!pc->pc || i == lane->count)
			break;
		if (pc->pc != lane->pcs[i] || !(pc->flags & TFP_PC_EXACT) != !lane->exact[i])
			return WRONG;
	}
	/* A frame without call frame information ends our stack and is not part of libgcc's. */
	if (node && cut == TFP_PC_CUT_UNKNOWN && pc->pc && i == lane->count) {
		node = (uint32_t)(shim->nodes[node] >> 32);
		pc = node ? &shim->pcs[(uint32_t)shim->nodes[node]] : pc;
	}
	if (!node && i == lane->count)
		return cut ? WRONG : SAME;
	if (node && !pc->pc && (pc->flags & cut))
		return i >= lane->count ? CUT : cut == TFP_PC_CUT_DEPTH ? DEEP : INCOMPLETE;
	return WRONG;
}

/* What differs is judged again, with another stack of libgcc's: a signal may have come while it looked. Ours stays what it was. */
static void compare(struct lane *lane, uintptr_t from, uint32_t node, uint32_t cut)
{
	enum verdict verdict = judge(lane, from, node, cut);

	if (verdict == WRONG)
		verdict = judge(lane, from, node, cut);
	shim->totals.stacks++;
	shim->totals.wrong += verdict == WRONG;
	shim->totals.nothing += verdict == NOTHING;
	shim->totals.deep += verdict == DEEP;
	shim->totals.incomplete += verdict == INCOMPLETE;
	shim->totals.cut += verdict == CUT;
	if (verdict == WRONG || ((verdict == INCOMPLETE || verdict == CUT) && getenv("STACKSHIM_CUTS")))
		show(lane, node, cut);
}

static __attribute__((noinline)) void record(uintptr_t pc, uintptr_t *frame, uintptr_t sp)
{
	uint32_t cut = 0, node;
	struct lane *lane;

	if (depth > 1 || !begin())
		return;
	depth++;
	if (!lanes)
		lanes = tfp_pages_get(2 * sizeof(*lanes), 1);
	lane = &lanes[depth - 1];
	if (!lane->cache)
		lane->cache = tfp_stack_cache_make(shim->stacks);
	node = tfp_stack_capture(shim->stacks, lane->cache, pc, sp, frame[0], &cut);
	if (++shim->calls % shim->every == 0)
		compare(lane, pc, node, cut);
	depth--;
}

#define RECORD() record((uintptr_t)__builtin_return_address(0), __builtin_frame_address(0), (uintptr_t)__builtin_dwarf_cfa())

EXPORT void *malloc(size_t size)
{
	RECORD();
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	RECORD();
	return __libc_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size)
{
	RECORD();
	return __libc_realloc(block, size);
}

/* For signal handlers that interrupt anything. */
EXPORT void stackshim_probe(void);
EXPORT void stackshim_probe(void)
{
	RECORD();
}

EXPORT int dlclose(void *handle)
{
	static int (*real)(void *handle);
	int result;

	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	if (begin())
		tfp_stacks_unload_begin(shim->stacks);
	result = real(handle);
	if (begin())
		tfp_stacks_unload_end(shim->stacks);
	return result;
}

static __attribute__((destructor)) void report(void)
{
	const char *path = getenv("STACKSHIM_OUT");
	int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	char line[256];

	if (file < 0 || !shim || shim->phase != 2)
		return;
	snprintf(line, sizeof(line), "%llu %llu %llu %llu %llu %llu %d %s calls %llu pcs %u nodes %u facts %u\n",
		 (unsigned long long)shim->totals.stacks, (unsigned long long)shim->totals.wrong,
		 (unsigned long long)shim->totals.incomplete, (unsigned long long)shim->totals.deep,
		 (unsigned long long)shim->totals.cut, (unsigned long long)shim->totals.nothing, (int)getpid(),
		 program_invocation_short_name, (unsigned long long)shim->calls, shim->pc_count, shim->node_count, shim->fact_count);
	if (write(file, line, strlen(line)) < 0)
		_exit(99);
	close(file);
}
