/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the buffers that CUPTI fills, byte by byte, while a CUDA program runs: CUDA_INJECTION64_PATH=raw_buffers.so, with
 * RAW_CUPTI (libcupti's path), RAW_OUT (the file to write) and, for fewer kinds of records than all that we read, RAW_KINDS
 * ("10 1 2"). make check-gpu runs it; test/unit/cupti_raw_test.c replays files. What it costs a program is what CUPTI costs.
 *
 *   tfprof raw CUPTI buffers 1
 *   about WORDS                        what made them: release, driver, device
 *   stride KIND BYTES COUNT            as the library itself steps, and how many records of the kind there are in all
 *   buffer BYTES TEXTS                 then that many lines `text OFFSET LENGTH`, each with its bytes behind the line end,
 *                                      then the buffer's bytes and a line end
 *
 * A pointer in a record is 0 in the file; where it led to a text a line says which and at what offset.
 * Rule: shares nothing with the library; offsets are those of NVIDIA's headers, written again. A machine that refuses leaves
 * no file, and the reason in RAW_OUT.why.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (1u << 20)
#define FILE_MOST (400u << 10) /* bytes of buffers kept: fixtures are small */
#define KINDS 64
#define TEXTS_MOST 4096
#define NAME_MOST 4096

static struct {
	int (*version)(uint32_t *);
	int (*subscribe)(void **, void (*)(void *, uint32_t, uint32_t, const void *), void *);
	int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(uint32_t);
	int (*next)(uint8_t *, size_t, void **);
	int (*flush)(uint32_t);
} cupti;

/* Where records hold pointers: kind, offset, and whether it leads to a text. */
static const struct pointer {
	uint32_t kind, offset;
	int is_text;
} pointers[] = {{3, 104, 1}, {10, 104, 1}, {8, 136, 1}, {11, 24, 1}, {49, 64, 1}, {52, 56, 1}, {17, 48, 0}, {3, 160, 0}, {10, 160, 0}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *body;
static size_t kept_bytes, strides[KINDS], counts[KINDS];
static char about[512];

static void explain(const char *what, int code)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.why", getenv("RAW_OUT") ? getenv("RAW_OUT") : "raw");
	FILE *file = fopen(path, "w");
	if (file) {
		fprintf(file, "%s %d\n", what, code);
		fclose(file);
	}
}

static void request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	memset(*buffer, 0, BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*most = 0;
}

/* Takes the pointer out of a record; with a text it becomes a line. */
static void settle(const struct pointer *pointer, uint8_t *buffer, uint8_t *record, size_t stride, FILE *texts, size_t *count)
{
	const char *text;

	if (pointer->offset + 8 > stride)
		return;
	memcpy(&text, record + pointer->offset, 8);
	memset(record + pointer->offset, 0, 8);
	if (!text || !pointer->is_text || *count == TEXTS_MOST)
		return;
	fprintf(texts, "text %zu %zu\n%.*s\n", (size_t)(record - buffer) + pointer->offset, strnlen(text, NAME_MOST), NAME_MOST, text);
	++*count;
}

/* Counts the records of a buffer as the library steps, and takes their pointers out. */
static void walk(uint8_t *buffer, size_t valid, FILE *texts, size_t *count)
{
	void *at = NULL, *next;

	for (int result = cupti.next(buffer, valid, &at); result == 0; at = next) {
		uint32_t kind = *(uint32_t *)at;
		next = at;
		result = cupti.next(buffer, valid, &next);
		size_t stride = result == 0 ? (size_t)((uint8_t *)next - (uint8_t *)at) : kind < KINDS ? strides[kind] : 0;
		if (kind < KINDS) {
			counts[kind]++;
			strides[kind] = stride ? stride : strides[kind];
		}
		for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++)
			if (pointers[i].kind == kind)
				settle(&pointers[i], buffer, at, stride ? stride : (size_t)(buffer + valid - (uint8_t *)at), texts, count);
		if (result)
			break;
	}
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	char *lines = NULL;
	size_t length = 0, count = 0;

	(void)context, (void)stream, (void)bytes;
	pthread_mutex_lock(&lock);
	if (valid && body && kept_bytes + valid <= FILE_MOST) {
		FILE *texts = open_memstream(&lines, &length);
		walk(buffer, valid, texts, &count);
		fclose(texts);
		fprintf(body, "buffer %zu %zu\n", valid, count);
		fwrite(lines, 1, length, body);
		fwrite(buffer, 1, valid, body);
		fputc('\n', body);
		kept_bytes += valid;
	}
	pthread_mutex_unlock(&lock);
	free(lines);
	free(buffer);
}

static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

/* The head is known at the end: it goes before the buffers then. */
static void finish(void)
{
	FILE *file = fopen(getenv("RAW_OUT"), "w");
	char block[65536];
	size_t got;

	cupti.flush(1);
	pthread_mutex_lock(&lock);
	if (file && body) {
		fprintf(file, "tfprof raw CUPTI buffers 1\nabout %s\n", about);
		for (uint32_t kind = 0; kind < KINDS; kind++)
			if (counts[kind])
				fprintf(file, "stride %u %zu %zu\n", kind, strides[kind], counts[kind]);
		rewind(body);
		while ((got = fread(block, 1, sizeof block, body)) > 0)
			fwrite(block, 1, got, file);
		fclose(file);
	}
	body = NULL;
	pthread_mutex_unlock(&lock);
}

/* How far the library steps over a record of each kind: two of them, laid out by nobody. */
static void probe(void)
{
	static uint64_t words[512];

	for (uint32_t kind = 1; kind < KINDS; kind++) {
		void *first = NULL, *second;
		for (size_t i = 0; i < sizeof words / 8; i++)
			words[i] = kind;
		if (cupti.next((uint8_t *)words, sizeof words, &first))
			continue;
		second = first;
		if (cupti.next((uint8_t *)words, sizeof words, &second) == 0)
			strides[kind] = (size_t)((uint8_t *)second - (uint8_t *)first);
	}
}

static int find_functions(void *library)
{
	cupti.version = (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion");
	*(void **)&cupti.subscribe = dlsym(library, "cuptiSubscribe");
	*(void **)&cupti.register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
	cupti.enable = (int (*)(uint32_t))dlsym(library, "cuptiActivityEnable");
	*(void **)&cupti.next = dlsym(library, "cuptiActivityGetNextRecord");
	cupti.flush = (int (*)(uint32_t))dlsym(library, "cuptiActivityFlushAll");
	return cupti.version && cupti.subscribe && cupti.register_callbacks && cupti.enable && cupti.next && cupti.flush;
}

/* The words of `about`: the releases, and the first device as the driver calls it. */
static void describe(uint32_t version)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
	const char *device = getenv("RAW_DEVICE");
	int number = 0;

	if (get_version)
		get_version(&number);
	snprintf(about, sizeof about, "CUPTI %u, driver %d, %s", version, number, device ? device : "a device");
}

int InitializeInjection(void); /* called by the driver, inside cuInit */
int InitializeInjection(void)
{
	const char *path = getenv("RAW_CUPTI"), *kinds = getenv("RAW_KINDS") ? getenv("RAW_KINDS") : "10 1 22 2 38 17 8 9 37 11 49 50 52";
	char *next;
	void *library = path && getenv("RAW_OUT") ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *subscriber;
	uint32_t version = 0;
	int result;

	if (!library || !find_functions(library)) {
		explain("no CUPTI could be opened at RAW_CUPTI", 0);
		return 1;
	}
	result = cupti.version(&version);
	result = result ? result : cupti.subscribe(&subscriber, called, NULL);
	result = result ? result : cupti.register_callbacks(request, complete);
	result = result ? result : cupti.enable((uint32_t)strtoul(kinds, &next, 10));
	if (result) {
		explain("CUPTI refuses with result", result);
		return 1;
	}
	while (*next)
		cupti.enable((uint32_t)strtoul(next, &next, 10));
	describe(version);
	probe();
	body = tmpfile();
	atexit(finish);
	return 1;
}
