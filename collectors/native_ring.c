/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the kernel takes; see collectors/native_ring.h. Formats: linux/perf_event.h. */
#include "collectors/native_ring.h"

#include "writer/log.h"
#include "writer/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "writer/poison.h"

/* Of the stack's top in each sample, some 100 to 200 frames, or, where locked memory has a limit, 30 to 60; a ring has room for one. */
#define STACK_BYTES 32768u
#define SMALL_STACK_BYTES 8192u
/*
 * That the thread runs before the sample is taken; the kernel's least are 10,000. Where its own code is left out it asks again each so long
 * until the thread is back from there, 6 us each time.
 */
#define RUN_NS 20000
#define USER_RUN_NS 1000000

#define LOCKED_PART 32u         /* of RLIMIT_MEMLOCK for all rings: 12 under the usual 8 MiB, none under 640 KiB */
#define FIRST_USERS 0xeffffffdu /* number of the first user namespace (PROC_USER_INIT_INO) */

/* Registers in the order of a sample, by the kernel's numbers (asm/perf_regs.h). */
#if defined __x86_64__
enum { FRAME, STACK, CODE, REGISTERS };
#define REGISTER_BITS (UINT64_C(7) << 6) /* bp, sp, ip */
#else
enum { FRAME, LINK, STACK, CODE, REGISTERS };
#define REGISTER_BITS (UINT64_C(15) << 29) /* x29, lr, sp, pc */
#endif

static long open_event(uint32_t tid, enum tfp_native_level level, uint32_t stack_bytes)
{
	struct perf_event_attr wanted = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof wanted,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = level == TFP_NATIVE_ALL ? RUN_NS : USER_RUN_NS,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGISTER_BITS,
		.sample_stack_user = stack_bytes,
		.disabled = 1,
		.exclude_kernel = level != TFP_NATIVE_ALL,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = 1 /* CLOCK_MONOTONIC */,
	};

	return tfp_sys(SYS_perf_event_open, (long)&wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

enum tfp_native_level tfp_native_ring_level(long *error)
{
	for (int level = TFP_NATIVE_ALL; level > TFP_NATIVE_NONE; level--) {
		long event = open_event(0, (enum tfp_native_level)level, STACK_BYTES);
		*error = event < 0 ? event : 0;
		if (event >= 0)
			tfp_sys(SYS_close, event, 0, 0, 0, 0, 0);
		if (event >= 0)
			return (enum tfp_native_level)level;
	}
	return TFP_NATIVE_NONE;
}

static size_t page_bytes(void)
{
	unsigned long bytes = getauxval(AT_PAGESZ);

	return bytes ? bytes : 4096;
}

/* Of the data behind a ring's first page: a power of two, and whole pages. */
static uint32_t data_bytes(uint32_t stack_bytes)
{
	return page_bytes() > 2 * stack_bytes ? (uint32_t)page_bytes() : 2 * stack_bytes;
}

/* Whether the kernel lets this process lock what it likes: it has CAP_IPC_LOCK in the first of all user namespaces. */
static int may_lock(void)
{
	struct __user_cap_header_struct who = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
	struct stat space = {.st_ino = 0};

	return tfp_sys(SYS_capget, (long)&who, (long)has, 0, 0, 0, 0) == 0 && (has[0].effective & 1u << CAP_IPC_LOCK) &&
	       tfp_sys(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/user", (long)&space, 0, 0, 0) == 0 && space.st_ino == FIRST_USERS;
}

/* Bytes that may be locked; UINT64_MAX: as many as are wanted. */
static uint64_t lockable(void)
{
	struct rlimit limit = {0, 0};

	if (tfp_sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0, 0) != 0)
		return 0;
	return limit.rlim_cur == RLIM_INFINITY || may_lock() ? UINT64_MAX : limit.rlim_cur / LOCKED_PART;
}

uint32_t tfp_native_ring_most(void)
{
	uint64_t most = lockable() / (page_bytes() + data_bytes(SMALL_STACK_BYTES));

	return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static int is_ours(const struct tfp_native_ring *ring)
{
	uint64_t id = 0;

	return tfp_sys(SYS_ioctl, ring->number, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) == 0 && id == ring->id;
}

/* At a high number. -errno: there is none, and it is closed. */
static long take_number(struct tfp_native_ring *ring, long event)
{
	long high = tfp_file_raise(event), error = -EMFILE;

	tfp_sys(SYS_close, event, 0, 0, 0, 0, 0);
	if (high < 0)
		return error;
	ring->number = (int)high;
	error = tfp_sys(SYS_ioctl, high, PERF_EVENT_IOC_ID, (long)&ring->id, 0, 0, 0);
	if (error)
		tfp_sys(SYS_close, high, 0, 0, 0, 0, 0);
	return error;
}

long tfp_native_ring_open(struct tfp_native_ring *ring, uint32_t tid, enum tfp_native_level level)
{
	uint32_t stack_bytes = lockable() == UINT64_MAX ? STACK_BYTES : SMALL_STACK_BYTES;
	long event = open_event(tid, level, stack_bytes), pages, error;

	*ring = (struct tfp_native_ring){.pages = NULL, .data_bytes = data_bytes(stack_bytes)};
	if (event < 0)
		return event;
	error = take_number(ring, event);
	if (error)
		return error;
	pages = tfp_sys(SYS_mmap, 0, (long)(page_bytes() + ring->data_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, ring->number, 0);
	if (tfp_is_error(pages)) {
		tfp_native_ring_leave(ring);
		return pages;
	}
	ring->pages = (uint8_t *)(uintptr_t)pages;
	return 0;
}

void tfp_native_ring_leave(struct tfp_native_ring *ring)
{
	if (ring->id && is_ours(ring))
		tfp_sys(SYS_close, ring->number, 0, 0, 0, 0, 0);
	*ring = (struct tfp_native_ring){.pages = NULL};
}

void tfp_native_ring_close(struct tfp_native_ring *ring)
{
	if (ring->pages)
		tfp_sys(SYS_munmap, (long)(uintptr_t)ring->pages, (long)(page_bytes() + ring->data_bytes), 0, 0, 0, 0);
	tfp_native_ring_leave(ring);
}

int tfp_native_ring_ask(const struct tfp_native_ring *ring)
{
	return is_ours(ring) && tfp_sys(SYS_ioctl, ring->number, PERF_EVENT_IOC_REFRESH, 1, 0, 0, 0) == 0 ? 0 : -1;
}

/* The kernel's side of the first page. */
static struct perf_event_mmap_page *head_of(const struct tfp_native_ring *ring)
{
	return (struct perf_event_mmap_page *)(void *)ring->pages;
}

/* The word `at` bytes into all that was ever written. Records begin at words and the room is whole words: none is cut in two. */
static uint64_t word_at(const struct tfp_native_ring *ring, uint64_t at)
{
	return *(const uint64_t *)(const void *)(ring->pages + page_bytes() + (at & (ring->data_bytes - 1)));
}

static struct perf_event_header header_at(const struct tfp_native_ring *ring, uint64_t at)
{
	union {
		uint64_t word;
		struct perf_event_header header;
	} first = {.word = word_at(ring, at)};

	return first.header;
}

/* time, ABI of the registers, registers, bytes of stack, these, how many of them are some. 0: the thread had no registers of a user's. */
static int read_sample(const struct tfp_native_ring *ring, uint64_t at, uint32_t bytes, struct tfp_native_sample *sample)
{
	const uint64_t values = at + sizeof(struct perf_event_header) + 16, stack = values + 8 * REGISTERS;

	if (bytes < stack + 8 - at || word_at(ring, values - 8) != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	uint64_t room = word_at(ring, stack);
	if (room > bytes - (stack + 8 - at))
		return 0;
	*sample = (struct tfp_native_sample){.time_ns = word_at(ring, values - 16)};
	sample->registers = (struct tfp_native_registers){.pc = word_at(ring, values + 8 * CODE),
							  .sp = word_at(ring, values + 8 * STACK),
							  .fp = word_at(ring, values + 8 * FRAME),
							  .has_fp = 1};
#if defined __aarch64__
	sample->registers.link = word_at(ring, values + 8 * LINK);
	sample->registers.has_link = 1;
#endif
	sample->copy = (struct tfp_native_copy){.start = sample->registers.sp,
						.data = ring->pages + page_bytes(),
						.offset = (size_t)(stack + 8),
						.mask = ring->data_bytes - 1};
	if (room)
		sample->copy.bytes = word_at(ring, stack + 8 + room);
	if (sample->copy.bytes > room)
		sample->copy.bytes = 0;
	return 1;
}

int tfp_native_ring_next(const struct tfp_native_ring *ring, struct tfp_native_sample *sample)
{
	uint64_t head = ring->pages ? __atomic_load_n(&head_of(ring)->data_head, __ATOMIC_ACQUIRE) : 0;

	while (ring->pages && head_of(ring)->data_tail < head) {
		uint64_t at = head_of(ring)->data_tail;
		struct perf_event_header header = header_at(ring, at);
		if (header.size < sizeof header || (header.size & 7) || header.size > head - at) { /* not as we know it: let go */
			__atomic_store_n(&head_of(ring)->data_tail, head, __ATOMIC_RELEASE);
			return 0;
		}
		if (header.type == PERF_RECORD_SAMPLE && read_sample(ring, at, header.size, sample))
			return 1;
		__atomic_store_n(&head_of(ring)->data_tail, at + header.size, __ATOMIC_RELEASE);
	}
	return 0;
}

void tfp_native_ring_drop(const struct tfp_native_ring *ring)
{
	uint64_t at = head_of(ring)->data_tail;

	__atomic_store_n(&head_of(ring)->data_tail, at + header_at(ring, at).size, __ATOMIC_RELEASE);
}
