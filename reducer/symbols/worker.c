/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child process that reads module files, and the pipe through which it answers.
 *
 * Rule: whatever a module's file does to the child (crash, endless loop, memory), this process loses the names of that
 * module only, and goes on with a new child at the next one. The child's memory goes when it ends.
 */
#include "reducer/symbols/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE_SECONDS 120             /* a 2 GB debug file takes about 20; then the module counts as damaged */
#define CHILD_BYTES (UINT64_C(1) << 30) /* private memory of the child; mapped files do not count */
#define TEXT_MAX (1u << 20)            /* longer answers are damage */
#define NO_TEXT UINT32_MAX
#ifndef __has_feature /* clang's word for what gcc tells by __SANITIZE_... */
#define __has_feature(name) 0
#endif

enum wire_kind { WIRE_FRAMES = 1, WIRE_PROBLEM, WIRE_DONE };

/* In front of everything the child sends. */
struct wire {
	uint32_t kind;
	uint32_t index;    /* frames: of the location; problem, done: of the batch */
	uint32_t count;    /* frames: how many follow; problem: bytes of text */
	uint32_t reserved;
};
struct wire_frame {
	uint32_t line, flags;
	uint32_t function_bytes, file_bytes; /* NO_TEXT = unknown */
};

/* The child's side. */
struct sender {
	FILE *pipe;
	const struct lookup_batch *batch;
};

static void put(FILE *pipe, const void *bytes, size_t length)
{
	if (length && fwrite(bytes, 1, length, pipe) != length)
		_exit(1);
}

static void send_text(FILE *pipe, const char *text)
{
	if (text)
		put(pipe, text, strnlen(text, TEXT_MAX));
}

static uint32_t text_bytes(const char *text)
{
	return text ? (uint32_t)strnlen(text, TEXT_MAX) : NO_TEXT;
}

static void send_frames(void *context, size_t i, const struct lookup_frame *frames, size_t count)
{
	struct sender *sender = context;
	struct wire wire = {.kind = WIRE_FRAMES, .index = sender->batch->index[i], .count = (uint32_t)count};

	put(sender->pipe, &wire, sizeof(wire));
	for (size_t k = 0; k < count; k++) {
		struct wire_frame frame = {
			.line = frames[k].line,
			.flags = frames[k].flags,
			.function_bytes = text_bytes(frames[k].function),
			.file_bytes = text_bytes(frames[k].file),
		};
		put(sender->pipe, &frame, sizeof(frame));
		send_text(sender->pipe, frames[k].function);
		send_text(sender->pipe, frames[k].file);
	}
}

/* Names from the symbol table alone: exact ones, or the nearest with an offset. */
static void send_names(struct sender *sender, const struct names *names)
{
	struct text readable = {0};

	for (size_t i = 0; i < sender->batch->count; i++) {
		struct lookup_frame frame = {0};
		if (names_frame(names, i, &readable, &frame))
			send_frames(sender, i, &frame, 1);
	}
	text_free(&readable);
}

static void child_batch(struct sender *sender, const struct symbols_options *options, uint32_t number)
{
	struct wire wire = {.kind = WIRE_PROBLEM, .index = number};
	struct module_file file;
	bool is_open = module_open(&file, sender->batch->module, options);

	if (file.problem.length) {
		wire.count = text_bytes(file.problem.bytes);
		put(sender->pipe, &wire, sizeof(wire));
		send_text(sender->pipe, file.problem.bytes);
	}
	if (is_open) {
		struct names *names = names_read(file.module, sender->batch);
		send_names(sender, names);
		lines_resolve(file.module, names, sender->batch, send_frames, sender);
		names_free(names);
	}
	module_close(&file);
	wire = (struct wire){.kind = WIRE_DONE, .index = number};
	put(sender->pipe, &wire, sizeof(wire));
	if (fflush(sender->pipe) != 0)
		_exit(1);
}

/* No core files, no words of libraries on stderr, no more memory than CHILD_BYTES, or than the user allows. */
static void limit_child(void)
{
	struct rlimit limit = {0, 0};
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (setrlimit(RLIMIT_CORE, &limit) != 0 || getrlimit(RLIMIT_DATA, &limit) != 0)
		_exit(1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
	/* not under sanitizers: they reserve address space, and their words are wanted */
	if (limit.rlim_cur > CHILD_BYTES)
		limit.rlim_cur = CHILD_BYTES;
	if (setrlimit(RLIMIT_DATA, &limit) != 0 || (nowhere >= 0 && dup2(nowhere, STDERR_FILENO) < 0))
		_exit(1);
#endif
	if (nowhere >= 0)
		close(nowhere);
}

static _Noreturn void child_run(int descriptor, const struct symbols_options *options, const struct lookup_batch *batches,
				size_t first, size_t count)
{
	struct sender sender = {.pipe = fdopen(descriptor, "w")};

	if (!sender.pipe)
		_exit(1);
	limit_child();
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask the network */
	for (size_t i = first; i < count; i++) {
		alarm(MODULE_SECONDS);
		sender.batch = &batches[i];
		child_batch(&sender, options, (uint32_t)i);
	}
	_exit(0);
}

/* The reading side. Texts of one answer are kept until it was handed on. */
struct receiver {
	FILE *pipe;
	const struct lookup_sink *sink;
	struct lookup_frame frames[FRAMES_MAX];
	char *texts[2 * FRAMES_MAX];
	size_t text_count;
};

static bool take(struct receiver *receiver, void *bytes, size_t length)
{
	return fread(bytes, 1, length, receiver->pipe) == length;
}

static bool take_text(struct receiver *receiver, uint32_t length, const char **text)
{
	char *bytes;

	*text = NULL;
	if (length == NO_TEXT)
		return true;
	if (length > TEXT_MAX)
		return false;
	bytes = base_alloc(length + 1, 1);
	receiver->texts[receiver->text_count++] = bytes;
	*text = bytes;
	return take(receiver, bytes, length);
}

static void drop_texts(struct receiver *receiver)
{
	while (receiver->text_count)
		free(receiver->texts[--receiver->text_count]);
}

static bool take_frames(struct receiver *receiver, const struct wire *wire)
{
	if (wire->count > FRAMES_MAX)
		return false;
	for (uint32_t i = 0; i < wire->count; i++) {
		struct lookup_frame *frame = &receiver->frames[i];
		struct wire_frame sent;
		if (!take(receiver, &sent, sizeof(sent)) || !take_text(receiver, sent.function_bytes, &frame->function) ||
		    !take_text(receiver, sent.file_bytes, &frame->file))
			return false;
		frame->line = sent.line;
		frame->flags = sent.flags;
	}
	receiver->sink->frames(receiver->sink->context, wire->index, receiver->frames, wire->count);
	return true;
}

static bool take_problem(struct receiver *receiver, const struct wire *wire)
{
	const char *sentence;

	if (!take_text(receiver, wire->count, &sentence) || !sentence)
		return false;
	receiver->sink->problem(receiver->sink->context, wire->index, sentence);
	return true;
}

/* Reads one child to its end. The first batch that it did not finish; `count` when it finished all. */
static size_t receive(struct receiver *receiver, size_t first)
{
	struct wire wire;

	while (take(receiver, &wire, sizeof(wire))) {
		bool good = true;
		if (wire.kind == WIRE_DONE)
			first = (size_t)wire.index + 1;
		else if (wire.kind == WIRE_FRAMES)
			good = take_frames(receiver, &wire);
		else
			good = take_problem(receiver, &wire);
		drop_texts(receiver);
		if (!good)
			break;
	}
	return first;
}

/* Runs one child from batch `first`. Returns the first unfinished batch, and how the child ended in *status. */
static size_t run_child(const struct symbols_options *options, const struct lookup_batch *batches, size_t first,
			size_t count, const struct lookup_sink *sink, int *status)
{
	struct receiver receiver = {.sink = sink};
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		base_die("cannot start the reader of symbols: %s", strerror(errno));
	if (child == 0) {
		close(ends[0]);
		child_run(ends[1], options, batches, first, count);
	}
	close(ends[1]);
	receiver.pipe = fdopen(ends[0], "r");
	if (!receiver.pipe)
		base_die("cannot read from the reader of symbols: %s", strerror(errno));
	first = receive(&receiver, first);
	fclose(receiver.pipe);
	while (waitpid(child, status, 0) < 0 && errno == EINTR)
		continue;
	return first;
}

void worker_run(const struct symbols_options *options, const struct lookup_batch *batches, size_t count,
		const struct lookup_sink *sink)
{
	size_t next = 0;

	while (next < count) {
		struct text problem = {0};
		int status = 0;
		next = run_child(options, batches, next, count, sink, &status);
		if (next >= count)
			break;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
			text_format(&problem, "reading its symbols took longer than %d s", MODULE_SECONDS);
		else
			text_string(&problem, "its symbols cannot be read (a damaged file, or too little memory)");
		sink->problem(sink->context, next++, problem.bytes);
		text_free(&problem);
	}
}
