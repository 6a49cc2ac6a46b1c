/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every function of the malloc and mmap families with ordinary and impossible arguments and prints what came back
 * and what became of errno, which is 1234 before each call. Run with and without the library, the lines must be equal.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void cfree_old(void *block);
#if defined(__x86_64__)
__asm__(".symver cfree_old,cfree@GLIBC_2.2.5");
#endif
extern void free_sized(void *block, size_t size) __attribute__((weak));
extern void free_aligned_sized(void *block, size_t alignment, size_t size) __attribute__((weak));

#define HUGE_BYTES (SIZE_MAX / 2 + 1)
static volatile size_t huge = HUGE_BYTES; /* volatile: the compiler must not know that the call fails */

/* Prints what a call returned: nothing, or something (with its usable size and alignment), and errno after it. */
static void *told(const char *what, void *block)
{
	int after = errno;
	size_t usable = block ? malloc_usable_size(block) : 0;
	printf("%s: %s usable %zu aligned %d errno %d\n", what, block ? "block" : "null", usable, !((uintptr_t)block % 16), after);
	errno = 1234;
	return block;
}

static void status(const char *what, long value)
{
	int after = errno;
	printf("%s: %ld errno %d\n", what, value, after);
	errno = 1234;
}

static void released(const char *what, void *block, void (*release)(void *))
{
	release(block);
	status(what, 0);
}

static void heap_ordinary(void)
{
	void *block;
	released("free(NULL)", NULL, free);
	released("free(malloc(0))", told("malloc(0)", malloc(0)), free);
	released("free(malloc(1))", told("malloc(1)", malloc(1)), free);
	released("free(large)", told("malloc(1 MiB)", malloc(1 << 20)), free);
	released("free(calloc)", told("calloc(10,10)", calloc(10, 10)), free);
	released("free(calloc 0)", told("calloc(0,10)", calloc(0, 10)), free);
	released("free(realloc)", told("realloc(NULL,50)", realloc(NULL, 50)), free);
	block = told("realloc up", realloc(malloc(50), 5000));
	block = told("realloc down", realloc(block, 5));
	told("realloc to 0", realloc(block, 0));
	told("realloc(NULL,0)", realloc(NULL, 0));
	released("free(reallocarray)", told("reallocarray(NULL,7,9)", reallocarray(NULL, 7, 9)), free);
	status("posix_memalign", posix_memalign(&block, 64, 100));
	released("free(posix_memalign)", block, free);
	released("free(aligned_alloc)", told("aligned_alloc(4096,8192)", aligned_alloc(4096, 8192)), free);
	released("free(memalign)", told("memalign(256,1000)", memalign(256, 1000)), free);
	released("free(valloc)", told("valloc(10)", valloc(10)), free);
	released("free(pvalloc)", told("pvalloc(10)", pvalloc(10)), free);
#if defined(__x86_64__)
	released("cfree", told("malloc(77)", malloc(77)), cfree_old);
#endif
	released("free(strdup)", told("strdup", strdup("text of some length")), free);
}

static void heap_impossible(void)
{
	void *block = (void *)&huge;
	size_t odd = 24; /* no power of two: of a constant clang would say so */
	told("malloc(huge)", malloc(huge));
	told("malloc(SIZE_MAX)", malloc(huge * 2 - 1));
	told("calloc overflow", calloc(huge, 2));
	told("calloc huge", calloc(1, huge));
	told("reallocarray overflow", reallocarray(NULL, huge, 2));
	void *volatile kept = malloc(100);
	memset(kept, 'x', 100);
	told("realloc huge", realloc(kept, huge));
	told("reallocarray of a block", reallocarray(kept, huge, 4));
	status("kept after failure", ((char *)kept)[99]);
	status("posix_memalign bad alignment", posix_memalign(&block, 24, 100));
	status("posix_memalign small alignment", posix_memalign(&block, 2, 100));
	status("posix_memalign huge", posix_memalign(&block, 64, huge));
	status("result untouched", block == (void *)&huge);
	told("aligned_alloc huge", aligned_alloc(64, huge));
	told("memalign huge", memalign(64, huge));
	told("memalign odd alignment", memalign(odd, 100));
	told("valloc huge", valloc(huge));
	told("pvalloc huge", pvalloc(huge));
	released("free(kept)", kept, free);
}

static void maps(void)
{
	char *range = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	status("mmap", range != MAP_FAILED);
	range = mremap(range, 8192, 20000, MREMAP_MAYMOVE);
	status("mremap", range != MAP_FAILED);
	status("mremap fixed", mremap(range, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, range + 8192) == range + 8192);
	status("mremap bad", mremap((void *)1, 4096, 4096, 0) == MAP_FAILED);
	status("munmap", munmap(range + 8192, 12288));
	status("munmap bad", munmap((void *)1, 4096));
	status("mmap bad length", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	status("mmap bad descriptor", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED);
	status("mmap64", munmap(mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096));
	char *before = sbrk(0);
	status("sbrk(0)", before != (void *)-1);
	status("sbrk up", sbrk(8192) == before);
	status("sbrk down", sbrk(-8192) == before + 8192);
	status("sbrk huge", sbrk(INTPTR_MAX) == (void *)-1);
	status("brk", brk(before + 4096));
	status("brk back", brk(before));
}

int main(void)
{
	static char room[1 << 16];
	setvbuf(stdout, room, _IOFBF, sizeof room);
	errno = 1234;
	/* valloc and pvalloc leave the heap's top at a page of their own: the same with and without us. */
	for (int round = 0; round < 3; round++) {
		heap_ordinary();
		heap_impossible();
	}
	maps();
	status("free_sized there", !!free_sized);
	status("free_aligned_sized there", !!free_aligned_sized);
	if (free_sized)
		free_sized(malloc(10), 10);
	if (free_aligned_sized)
		free_aligned_sized(aligned_alloc(64, 128), 64, 128);
	status("malloc_usable_size(NULL)", (long)malloc_usable_size(NULL));
	status("dlsym malloc", dlsym(RTLD_DEFAULT, "malloc") != NULL);
	return 0;
}
