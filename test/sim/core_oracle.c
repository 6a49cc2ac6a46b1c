/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle log (oracle.h has its lines): a file mapped shared, appended under a lock of its own.
 *
 * Rule: a line is in the file before the API call that caused it returns, so no death of the process takes it away.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inner.h"
#include "oracle.h"

#define WINDOW ((size_t)4 << 20)	/* bytes mapped at once; a line is far shorter */
#define LINE_MAX_BYTES ((size_t)1 << 19)	/* names of 64 KiB, escaped */

static pthread_mutex_t oracle_lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;		/* all under oracle_lock after sim_oracle_start */
static char *window;
static off_t window_at;
static size_t used;

static bool move_window(void)
{
	long page = sysconf(_SC_PAGESIZE);

	if (window)
		syscall(SYS_munmap, window, WINDOW);
	window_at += (off_t)used;
	used = (size_t)(window_at % page);
	window_at -= (off_t)used;
	window = ftruncate(file, window_at + (off_t)WINDOW) ? MAP_FAILED :
		sim_map_memory(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file, window_at);
	if (window != MAP_FAILED)
		return true;
	fprintf(stderr, "simgpu: the oracle log cannot grow: %s\n", strerror(errno));
	window = NULL;
	close(file);
	file = -1;
	return false;
}

void sim_oracle_start(void)
{
	const char *path = getenv("SIMGPU_ORACLE");
	char name[4096];

	if (!path || !*path)
		return;
	snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
	file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file < 0 || !move_window()) {
		fprintf(stderr, "simgpu: cannot write the oracle log %s: %s\n", name, strerror(errno));
		exit(70);
	}
	sim_oracle("oracle\t1\t%d\t%llu", (int)getpid(), (unsigned long long)sim_clock_now());
	for (int i = 0; i < sim_device_count(); i++)
		sim_oracle("device\t%d\t%zu\t%zu", i, sim_device_at(i)->capacity, sim_machine_free(sim_machine_at(i)));
}

bool sim_has_oracle(void)
{
	return file >= 0 && !sim_is_fork_child();
}

void sim_oracle(const char *format, ...)
{
	va_list list;
	int count;

	if (!sim_has_oracle())
		return;
	pthread_mutex_lock(&oracle_lock);
	if (file >= 0 && (used + LINE_MAX_BYTES <= WINDOW || move_window())) {
		va_start(list, format);
		count = vsnprintf(window + used, LINE_MAX_BYTES - 1, format, list);
		va_end(list);
		used += (size_t)count;
		window[used++] = '\n';
	}
	pthread_mutex_unlock(&oracle_lock);
}

void sim_oracle_finish(void)
{
	sim_oracle("exit\t%llu", (unsigned long long)sim_clock_now());
	pthread_mutex_lock(&oracle_lock);
	if (file >= 0 && ftruncate(file, window_at + (off_t)used))
		fprintf(stderr, "simgpu: the oracle log cannot be trimmed\n");
	pthread_mutex_unlock(&oracle_lock);
}

/* The name with everything but printable ASCII escaped; to must hold four times its length. */
static const char *escaped(const char *name, char *to)
{
	char *out = to;

	for (const unsigned char *in = (const unsigned char *)name; *in; in++)
		if (*in < 32 || *in > 126 || *in == '\\')
			out += sprintf(out, "\\x%02x", *in);
		else
			*out++ = (char)*in;
	*out = 0;
	return to;
}

static void write_kernel(const char *head, const struct sim_kernel_work *kernel)
{
	const char *name = kernel->name ? kernel->name : "";
	char *room = malloc(4 * strlen(name) + 1);

	sim_oracle("kernel\t%s\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u", head, escaped(name, room), kernel->grid[0], kernel->grid[1],
		   kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2], kernel->static_shared,
		   kernel->dynamic_shared);
	free(room);
}

static void write_copy(const char *head, const struct sim_copy_work *copy)
{
	sim_oracle("copy\t%s\t%u\t%llu\t%u\t%u\t%d\t%llu\t%llu", head, copy->kind, (unsigned long long)copy->bytes,
		   copy->source_kind, copy->destination_kind, copy->is_async, (unsigned long long)copy->source,
		   (unsigned long long)copy->destination);
}

void sim_oracle_work(const struct sim_work *work)
{
	char head[256];

	if (!sim_has_oracle() || work->kind == SIM_ACTION)
		return;
	snprintf(head, sizeof head, "%llu\t%u\t%u\t%d\t%u\t%u\t%llu\t%llu\t%u\t%llu", (unsigned long long)work->number, work->thread,
		 work->correlation, work->device, work->context_id, work->stream_id, (unsigned long long)work->true_start,
		 (unsigned long long)work->true_end, work->graph_id, (unsigned long long)work->node_id);
	if (work->kind == SIM_KERNEL)
		write_kernel(head, &work->kernel);
	else if (work->kind == SIM_COPY)
		write_copy(head, &work->copy);
	else if (work->kind == SIM_SET)
		sim_oracle("set\t%s\t%llu\t%u\t%u\t%d\t%llu", head, (unsigned long long)work->set.bytes, work->set.value,
			   work->set.memory_kind, work->set.is_async, (unsigned long long)work->set.destination);
	else if (work->kind == SIM_EVENT_RECORD)
		sim_oracle("event\t%s\t%u", head, work->event.event_id);
	else
		sim_oracle("%s\t%s", work->kind == SIM_GRAPH ? "graph" : "host", head);
}
