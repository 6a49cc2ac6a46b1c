/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that exports what a CPython interpreter does, with made-up structures, and allocates: for layouts of which no
 * interpreter is at hand, and for wrong ones.
 *
 *   FAKE_MINOR=13|14|15 FAKE_PLAN=... fake_python      which table of offsets it shows; what is wrong, see `spoil`
 *
 * Rule: written from CPython's headers, not from the library's tables. Takes blocks of 500,000 bytes and more.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OUT __attribute__((visibility("default")))

/* The fields that the table of offsets (Include/internal/pycore_debug_offsets.h) names, by version, with the offsets that it
 * tells. */
OUT uint64_t _PyRuntime[256];
OUT unsigned long Py_Version;
OUT uint64_t PyCode_Type[16], PyUnicode_Type[16], PyBytes_Type[16], PyFrame_Type[16];

static uint64_t interpreter[8192];
static uint64_t thread_state[128];
static uint64_t *thread = thread_state;
static uint64_t *main_interpreter = interpreter;
static int is_ending;

OUT void *PyGILState_GetThisThreadState(void);
OUT void *PyInterpreterState_Head(void);
OUT void *PyInterpreterState_Next(void *one);
OUT int Py_IsFinalizing(void);

OUT void *PyGILState_GetThisThreadState(void)
{
	return thread;
}

OUT void *PyInterpreterState_Head(void)
{
	return main_interpreter;
}

OUT void *PyInterpreterState_Next(void *one)
{
	(void)one;
	return NULL;
}

OUT int Py_IsFinalizing(void)
{
	return is_ending;
}

struct text {
	uint64_t count;
	void *type;
	uint64_t length, hash;
	uint32_t state, pad;
	char ascii[64];
};

struct bytes {
	uint64_t count;
	void *type;
	uint64_t length, hash;
	uint8_t data[64];
};

/* Offsets of our own making: the table tells them. */
struct code {
	uint64_t count;
	void *type;
	struct text *file;
	uint64_t pad;
	struct text *name, *qualified_name;
	struct bytes *lines;
	uint32_t first, pad2;
	uint16_t instructions[64];
	uint64_t rest[32];
};

struct frame {
	struct frame *previous;
	uint64_t code; /* the lowest bits are a tag in 3.14 */
	void *instruction;
	uint8_t owner, pad[7];
	uint64_t rest[16];
};

static struct text *text(const char *words)
{
	struct text *made = calloc(1, sizeof *made);

	*made = (struct text){
		.type = PyUnicode_Type, .length = strlen(words), .hash = UINT64_MAX, .state = 1u << 2 | 1u << 5 | 1u << 6};
	memcpy(made->ascii, words, strlen(words));
	return made;
}

/* Three instructions: the first on the first line, the others one line further down each. */
static struct code *code(const char *name, uint32_t first)
{
	static const uint8_t table[] = {0x80 | 10 << 3, 0, 0, 0x80 | 11 << 3, 0, 0, 0x80 | 11 << 3, 0, 0};
	struct code *made = calloc(1, sizeof *made);
	struct bytes *lines = calloc(1, sizeof *lines);

	*lines = (struct bytes){.type = PyBytes_Type, .length = sizeof table};
	memcpy(lines->data, table, sizeof table);
	*made = (struct code){.type = PyCode_Type,
			      .file = text("/made/up.py"),
			      .name = text("plain"),
			      .qualified_name = text(name),
			      .lines = lines,
			      .first = first};
	return made;
}

static void put(uint64_t **at, uint64_t value)
{
	*(*at)++ = value;
}

static void skip(uint64_t **at, int count)
{
	while (count-- > 0)
		put(at, 4242); /* what nobody asks for */
}

#define OF(type, field) ((uint64_t)offsetof(struct type, field))

/* Of 3.15's collector, where the newest of each ring counts: struct gc_stats of Include/internal/pycore_interp_structs.h. */
struct round {
	int64_t begin, end, collections, collected, uncollectable, candidates;
	double duration;
	int64_t heap;
};
static struct {
	struct {
		struct round rounds[11];
		int8_t newest;
	} young;
	struct {
		struct round rounds[3];
		int8_t newest;
	} old[2];
	uint32_t changes;
} collected;

static void fill_collected(void)
{
	collected.young.newest = 7;
	collected.young.rounds[7] = (struct round){1, 2, 50, 400, 3, 9, .5, 10};
	collected.young.rounds[8] = (struct round){1, 2, 39, 300, 1, 9, .5, 10};
	collected.old[0].newest = 2;
	collected.old[0].rounds[2] = (struct round){1, 2, 6, 70, 0, 9, .5, 10};
	collected.old[1].rounds[0] = (struct round){1, 2, 1, 8, 2, 9, .5, 10};
	*(void **)(void *)((char *)interpreter + 1024 + 192) = &collected;
}

static void fill_table(int minor)
{
	uint64_t *at = _PyRuntime;
	int is_later = minor >= 14, is_latest = minor >= 15;

	memcpy(at++, "xdebugpy", 8);
	put(&at, Py_Version);
	put(&at, 0); /* free threaded */
	skip(&at, 3);
	skip(&at, 4 + is_later); /* interpreter: size, id, next, threads.head, threads.main */
	put(&at, 1024);		 /* gc */
	skip(&at, 8 + 2 * is_later);
	skip(&at, 4);  /* thread: size, prev, next, interp */
	put(&at, 80);  /* current_frame */
	skip(&at, 3 * is_latest);
	put(&at, 160); /* thread_id */
	skip(&at, 3 + 5 * is_latest);
	skip(&at, 1); /* frame: size */
	put(&at, OF(frame, previous));
	put(&at, OF(frame, code));
	put(&at, OF(frame, instruction));
	skip(&at, 1);
	put(&at, OF(frame, owner));
	skip(&at, 2 * is_later);
	skip(&at, 1); /* code: size */
	put(&at, OF(code, file));
	put(&at, OF(code, name));
	put(&at, OF(code, qualified_name));
	put(&at, OF(code, lines));
	put(&at, OF(code, first));
	skip(&at, 3);
	put(&at, OF(code, instructions));
	skip(&at, is_later);
	skip(&at, 1);
	put(&at, 8);					 /* ob_type */
	skip(&at, 4 + 4 * is_latest + 3 + 3 + 4 * is_later + 3 + 2 + 3); /* type, tuple, list, set, dict, float, long */
	skip(&at, 1);
	put(&at, OF(bytes, length));
	put(&at, OF(bytes, data));
	skip(&at, 1);
	put(&at, OF(text, state));
	put(&at, OF(text, length));
	put(&at, OF(text, ascii)); /* size of the part before the characters */
	skip(&at, 1 + is_latest);
	put(&at, 200); /* gc.collecting */
	if (!is_latest)
		return;
	skip(&at, 1);
	put(&at, sizeof collected);
	put(&at, 192); /* gc.generation_stats */
	fill_collected();
}

static struct frame frames[4];
static struct code *codes[3];

/* inner <- (3.14: a frame of the interpreter's own) <- middle <- outer */
static void fill_frames(int minor)
{
	codes[0] = code("inner", 10);
	codes[1] = code("Middle.one", 20);
	codes[2] = code("<module>", 1);
	frames[0] = (struct frame){
		.previous = &frames[1], .code = (uint64_t)(uintptr_t)codes[0], .instruction = codes[0]->instructions + 2};
	frames[1] = (struct frame){.previous = &frames[2], .owner = 3};
	frames[2] = (struct frame){
		.previous = &frames[3], .code = (uint64_t)(uintptr_t)codes[1], .instruction = codes[1]->instructions + 1};
	frames[3] = (struct frame){.code = (uint64_t)(uintptr_t)codes[2] | (minor >= 14), .instruction = codes[2]->instructions};
	*(struct frame **)(void *)((char *)thread + 80) = frames;
	*(uint64_t *)(void *)((char *)thread + 160) = (uint64_t)pthread_self();
}

static void *nowhere(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return (char *)page + 64;
}

/* A copy of the first bytes (a multiple of 8) that ends where its mapping does, as the last object of an arena may. */
static void *at_edge(const void *object, size_t bytes)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return memcpy(pages + 4096 - bytes, object, bytes);
}

/* Nothing is wrong, but behind the last field that is read nothing can be read. */
static void move_to_edges(void)
{
	struct code *moved;

	for (int i = 0; i < 3; i++) {
		codes[i]->file = at_edge(codes[i]->file, (offsetof(struct text, ascii) + strlen(codes[i]->file->ascii) + 8) & ~7ul);
		codes[i]->qualified_name = at_edge(codes[i]->qualified_name,
						   (offsetof(struct text, ascii) + strlen(codes[i]->qualified_name->ascii) + 8) & ~7ul);
	}
	moved = at_edge(codes[1], offsetof(struct code, instructions) & ~7ul);
	frames[2].code = (uint64_t)(uintptr_t)moved;
	frames[2].instruction = moved->instructions + 1;
	frames[2].previous = at_edge(&frames[3], offsetof(struct frame, rest));
	thread = at_edge(thread, 160 + 8);
}

static void code_ends(void *one)
{
	puts(one == codes[0] ? "ended" : "another one ended");
}

/*
 * Without the global lock two words more stand before an object's type (Include/object.h), those of its own thread: all that is told of
 * objects lies that much further inside. Types are objects, too.
 */
static void go_free(void)
{
	static const int told[] = {35, 36, 37, 38, 39, 43, 45, 65, 66, 68, 69, 70}; /* words of 3.13's table: code, type, bytes, text */
	static const uint64_t type[] = {0, 0, 0, 0, 0, (uint64_t)(uintptr_t)"code", 200, 2, (uint64_t)(uintptr_t)code_ends};

	_PyRuntime[2] = 1;
	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		_PyRuntime[told[i]] += 16;
	for (int i = 0; i < 3; i++) {
		codes[i]->file = (void *)((char *)codes[i]->file - 16);
		codes[i]->qualified_name = (void *)((char *)codes[i]->qualified_name - 16);
		codes[i]->lines = (void *)((char *)codes[i]->lines - 16);
	}
	for (int i = 0; i < 4; i++)
		frames[i].code -= frames[i].code ? 16 : 0;
	memcpy(PyCode_Type, type, sizeof type);
}

/* Where the table tells of a frame's caller. */
static int previous_word(void)
{
	return Py_Version >= 0x030f0000 ? 40 : Py_Version >= 0x030e0000 ? 32 : 29;
}

/* What is wrong; each must end in silence or in what is right, never in a fault. */
static void spoil(const char *plan)
{
	if (!strcmp(plan, "cookie"))
		_PyRuntime[0]++;
	else if (!strcmp(plan, "version"))
		_PyRuntime[1] += 0x10000;
	else if (!strncmp(plan, "newer", 5))
		Py_Version = 0x031000f0;
	else if (!strcmp(plan, "free-threaded"))
		go_free();
	else if (!strcmp(plan, "offsets"))
		_PyRuntime[previous_word() + 1] += 8; /* executable */
	else if (!strcmp(plan, "huge-offset"))
		_PyRuntime[previous_word()] = UINT64_MAX;
	else if (!strcmp(plan, "thread"))
		*(uint64_t *)(void *)((char *)thread + 160) += 1;
	else if (!strcmp(plan, "frame-nowhere"))
		frames[2].previous = nowhere();
	else if (!strcmp(plan, "frame-odd"))
		frames[2].previous = (void *)((char *)&frames[3] + 1);
	else if (!strcmp(plan, "frame-kernel"))
		frames[2].previous = (void *)UINT64_C(0xffff888000000000);
	else if (!strcmp(plan, "code-nowhere"))
		frames[2].code = (uint64_t)(uintptr_t)nowhere();
	else if (!strcmp(plan, "code-type"))
		codes[1]->type = PyUnicode_Type;
	else if (!strcmp(plan, "name-nowhere"))
		codes[1]->qualified_name = nowhere();
	else if (!strcmp(plan, "name-wide"))
		codes[1]->qualified_name->state = 7u << 2 | 1u << 5;
	else if (!strcmp(plan, "name-long"))
		codes[1]->qualified_name->length = UINT64_MAX / 2;
	else if (!strcmp(plan, "lines-long"))
		codes[1]->lines->length = UINT64_C(1) << 60;
	else if (!strcmp(plan, "instruction"))
		frames[2].instruction = (void *)8;
	else if (!strcmp(plan, "circle"))
		frames[3].previous = &frames[2];
	else if (!strcmp(plan, "circle-of-nobody"))
		frames[1].previous = &frames[1];
	else if (!strcmp(plan, "edges"))
		move_to_edges();
	else if (!strcmp(plan, "ending"))
		is_ending = 1;
	else if (!strcmp(plan, "not-begun"))
		main_interpreter = NULL;
}

static const char *value_of(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* Before all constructors: an interpreter's own data is there from the start. */
static void begin(int argc, char **argv, char **environment)
{
	const char *plan = value_of(environment, "FAKE_PLAN"), *minor = value_of(environment, "FAKE_MINOR");
	int number = minor ? atoi(minor) : 13;

	(void)argc;
	(void)argv;
	Py_Version = 0x030000f0 | (unsigned long)number << 16;
	fill_table(number);
	fill_frames(number);
	spoil(plan ? plan : "");
}

__attribute__((section(".preinit_array"), used)) static void (*const earliest)(int, char **, char **) = begin;

int main(void)
{
	for (int i = 0; i < 200; i++) {
		volatile char *block = malloc((size_t)(500000 + i));
		block[0] = 1;
		free((void *)block);
	}
	if (PyCode_Type[8]) /* as its last user would */
		((void (*)(void *))(uintptr_t)PyCode_Type[8])(codes[0]);
	puts("done");
	if (getenv("FAKE_PLAN") && !strcmp(getenv("FAKE_PLAN"), "newer-for-long"))
		usleep(1100000);
	return 0;
}
