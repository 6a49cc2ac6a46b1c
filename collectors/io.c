/* SPDX-License-Identifier: Apache-2.0 */
/* Reads by file; see collectors/io.h. */
#include "collectors/io.h"

#include "collectors/heap.h"
#include "collectors/names.h"
#include "writer/sys.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define DESCRIPTORS 65536  /* with a place of their own; the others are looked up each time */
#define FILES_MOST 20000   /* distinct files with names of their own; then their folders stand for them */
#define LOOK_USES 64       /* uses between two comparisons with the kernel's view, */
#define LOOK_PART 10       /* and the part of a second after which there is one anyway */
#define MERGE_PART 1000    /* calls less than this part of a second apart share a record */

uint32_t tfp_io_is_wanted;

struct place {
	_Atomic uint64_t name; /* 0 = not known */
	uint64_t device, inode;
	uint64_t looked;
	uint32_t uses;
};

struct tfp_io {
	_Atomic uint32_t files;
	_Atomic uint32_t highest; /* descriptor with a place in use; never lowered */
	struct place places[DESCRIPTORS];
};

/* Of a lane: the record that may still grow, and room for a path. */
struct tfp_io_lane {
	struct tfp_record_io *record;
	uint64_t sequence; /* of the chunk it lies in */
	char path[4080];
};

static struct tfp_io *table(void)
{
	struct tfp_io *none = NULL, *io = __atomic_load_n(&tfp_state->io, __ATOMIC_ACQUIRE);

	if (io)
		return io;
	io = tfp_pages_get(sizeof *io, 1);
	if (io && !__atomic_compare_exchange_n(&tfp_state->io, &none, io, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(io, sizeof *io);
		io = none;
	}
	return io;
}

static size_t put_text(char *to, const char *text)
{
	size_t length = tfp_length(text);

	tfp_copy(to, text, length + 1);
	return length;
}

static size_t put_link(char *to, size_t room, int descriptor)
{
	char link[sizeof "/proc/self/fd/" + TFP_NUMBER_ROOM] = "/proc/self/fd/";

	*tfp_write_number(link + tfp_length(link), (unsigned)descriptor, 10) = 0;
	long length = tfp_sys(SYS_readlinkat, AT_FDCWD, (long)link, (long)to, (long)room - 1, 0, 0);
	to[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : put_text(to, "(unknown)");
}

static size_t put_socket(char *to, int descriptor)
{
	int domain = 0;
	socklen_t bytes = sizeof domain;

	tfp_sys(SYS_getsockopt, descriptor, SOL_SOCKET, SO_DOMAIN, (long)&domain, (long)&bytes, 0);
	if (domain == AF_INET || domain == AF_INET6)
		return put_text(to, "(internet socket)");
	return put_text(to, domain == AF_UNIX ? "(local socket)" : "(socket)");
}

/* Beyond FILES_MOST files a folder stands for all in it. */
static size_t cut_to_folder(struct tfp_io *io, char *path, size_t length)
{
	if (io->files < FILES_MOST) {
		io->files++;
		return length;
	}
	while (length && path[length - 1] != '/')
		length--;
	path[length] = '*';
	return length + 1;
}

static uint64_t look_up(struct tfp_io *io, char *path, int descriptor, const struct stat *status)
{
	size_t length;

	if (S_ISSOCK(status->st_mode))
		length = put_socket(path, descriptor);
	else if (S_ISFIFO(status->st_mode))
		length = put_text(path, "(pipe)");
	else
		length = put_link(path, sizeof ((struct tfp_io_lane *)0)->path - 1, descriptor);
	if (S_ISREG(status->st_mode))
		length = cut_to_folder(io, path, length);
	return tfp_name_id(path, length);
}

/* A vfork child has descriptors of its own in memory that is not. */
static int is_borrowed(void)
{
	return tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != (long)tfp_state->pid;
}

/* The name behind a descriptor, asked of the kernel. */
static uint64_t look(struct tfp_io *io, struct place *place, char *path, int descriptor, uint64_t now)
{
	struct stat status;

	if (tfp_sys(SYS_fstat, descriptor, (long)&status, 0, 0, 0, 0) < 0)
		return 0;
	if (place && place->name && place->device == status.st_dev && place->inode == status.st_ino) {
		place->looked = now;
		return place->name;
	}
	uint64_t name = look_up(io, path, descriptor, &status);
	if (!place || is_borrowed())
		return name;
	place->name = 0;
	place->device = status.st_dev;
	place->inode = status.st_ino;
	place->looked = now;
	place->uses = 0;
	place->name = name;
	uint32_t highest = io->highest;
	while ((uint32_t)descriptor > highest && !__atomic_compare_exchange_n((uint32_t *)&io->highest, &highest, (uint32_t)descriptor,
									       0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return name;
}

static uint64_t name_of(struct tfp_io_lane *own, int descriptor, uint64_t now)
{
	struct tfp_io *io = table();

	if (!io || descriptor < 0)
		return 0;
	struct place *place = descriptor < DESCRIPTORS ? &io->places[descriptor] : NULL;
	if (place && place->name && ++place->uses % LOOK_USES && now - place->looked < tfp_state->second_ticks / LOOK_PART)
		return place->name;
	return look(io, place, own->path, descriptor, now);
}

/* Whether the lane's last record is one of the same kind, not long ago, with nothing behind it: then it can grow. */
static int may_grow(const struct tfp_lane *lane, const struct tfp_io_lane *own, uint64_t file, unsigned function, uint64_t begin)
{
	const struct tfp_record_io *record = own->record;

	return record && own->sequence == lane->sequence && (const uint8_t *)(record + 1) == lane->cursor && record->file == file &&
	       record->function == function && record->calls < UINT32_MAX &&
	       begin - (record->word >> TFP_TAG_BITS) < tfp_state->second_ticks / MERGE_PART;
}

static void put(struct tfp_thread *thread, struct tfp_lane *lane, unsigned function, int descriptor, uint64_t begin, int64_t result)
{
	uint64_t now = tfp_now(), bytes = result > 0 ? (uint64_t)result : 0;
	struct tfp_io_lane *own = lane->io ? lane->io : (lane->io = tfp_pages_get(sizeof *own, 1));

	if (!own) {
		tfp_loss_add(thread, TFP_LOSS_memory, 1, now);
		return;
	}
	uint64_t file = name_of(own, descriptor, now);
	if (may_grow(lane, own, file, function, begin)) {
		struct tfp_record_io *record = own->record;
		uint64_t first = (record->word >> TFP_TAG_BITS) - record->span;
		record->bytes += bytes;
		record->duration += now - begin;
		record->failed += result < 0;
		record->calls++;
		record->span = now - first;
		__atomic_store_n(&record->word, now << TFP_TAG_BITS | TFP_TAG_io, __ATOMIC_RELEASE);
		return;
	}
	own->record = NULL;
	if (!TFP_PUT(thread, lane, now, io, .duration = now - begin, .span = now - begin, .file = file, .bytes = bytes, .calls = 1,
		     .failed = result < 0, .function = (uint16_t)function))
		return;
	own->record = (struct tfp_record_io *)(void *)lane->cursor - 1;
	own->sequence = lane->sequence;
}

void tfp_io_done(unsigned function, int descriptor, uint64_t begin, int64_t result)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_thread_have();

	if (!thread || thread->is_own)
		return;
	thread = tfp_thread_enter_lane(thread, &lane);
	if (!thread)
		return;
	put(thread, lane, function, descriptor, begin - tfp_origin.ticks, result);
	if (TFP_UNLIKELY(--thread->calls_left <= 0 || tfp_window_is_due(tfp_now())))
		tfp_look(thread, lane);
	tfp_thread_leave(thread);
}

void tfp_io_opened(unsigned function, int descriptor, uint64_t begin)
{
	if (descriptor < 0)
		return;
	tfp_io_forget((unsigned)descriptor, (unsigned)descriptor);
	tfp_io_done(function, descriptor, begin, 0);
}

void tfp_io_mapped(unsigned function, int descriptor, uint64_t bytes)
{
	tfp_io_done(function, descriptor, tfp_ticks(), (int64_t)bytes);
}

void tfp_io_forget(unsigned first, unsigned last)
{
	struct tfp_io *io = tfp_io_is_wanted && tfp_state ? __atomic_load_n(&tfp_state->io, __ATOMIC_ACQUIRE) : NULL;

	for (uint64_t at = first; io && at <= last && at <= io->highest; at++)
		if (io->places[at].name)
			io->places[at].name = 0;
}
