/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's lock, its start (what cuInit does, injection included) and its end.
 *
 * Rule: initialised once, never taken down; a fork child of an initialised process gets errors, as with a real driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inner.h"
#include "oracle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int state;	/* 0 not yet, 1 initialised, 2 finished; written by start, finish and the fork child */
static _Atomic bool is_fork_child;
static int start_error;		/* written once, by start */
static struct sim_machine machines[SIM_DEVICES_MAX];	/* filled by start, then under the lock */
static int machine_count;
__thread bool sim_in_host_function;

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void *sim_allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		abort();
	return memory;
}

/* Objects lie in one range of address space, so that a handle is known to be readable before it is read. */
#define OBJECT_BYTES ((size_t)4 << 30)
static char *_Atomic objects;
static _Atomic size_t objects_used;

void *sim_object_new(size_t bytes)
{
	size_t at;

	if (!objects) {
		char *none = NULL, *made = sim_map_memory(NULL, OBJECT_BYTES, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (made == MAP_FAILED)
			abort();
		if (!__atomic_compare_exchange_n((char **)&objects, &none, made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			syscall(SYS_munmap, made, OBJECT_BYTES);
	}
	at = __atomic_fetch_add((size_t *)&objects_used, (bytes + 15) / 16 * 16, __ATOMIC_SEQ_CST);
	if (at + bytes > OBJECT_BYTES)
		abort();
	return objects + at;
}

bool sim_is_object(const void *handle, uint32_t magic)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)objects;

	return objects && at < objects_used && at % 16 == 0 && *(const uint32_t *)handle == magic;
}

void *sim_map_memory(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

static void note_fork(void)
{
	sim_thread_forget();
	if (state == 1)
		is_fork_child = true;
}

/* Facts of an invented device, by its number in the machine; the scenario overrides what tests care about. */
void sim_describe_device(int number, struct sim_device *facts)
{
	*facts = (struct sim_device){
		.ordinal = number, .major = 9, .minor = 0, .sm_count = 132, .clock_khz = 1785000, .memory_clock_khz = 2619000,
		.memory_bus_bits = 5120, .pci_bus = 0x1a + 16 * number, .capacity = (size_t)16 << 30,
		.reserved_by_system = (size_t)512 << 20, .l2_bytes = (size_t)50 << 20, .constant_bytes = 65536,
		.max_threads_per_block = 1024, .max_threads_per_sm = 2048, .max_blocks_per_sm = 32, .warp_size = 32,
		.max_grid = {2147483647, 65535, 65535}, .max_block = {1024, 1024, 64}, .registers_per_block = 65536,
		.registers_per_sm = 65536, .shared_per_block = 49152, .shared_per_block_optin = 232448, .shared_per_sm = 233472,
		.copy_engines = 2,
	};
	snprintf(facts->name, sizeof facts->name, "%s", sim_setting_text("device_name", "Simulated GPU"));
	for (int i = 0; i < 16; i++)
		facts->uuid[i] = (uint8_t)(0x51 + 7 * i + number);
	facts->major = (int)sim_setting("compute_major", 9);
	facts->minor = (int)sim_setting("compute_minor", 0);
	facts->sm_count = (int)sim_setting("sm_count", 132);
	facts->copy_engines = (int)sim_setting("copy_engines", 2);
	facts->capacity = sim_setting("capacity_mib", 16384) << 20;
	facts->reserved_by_system = sim_setting("reserved_mib", 512) << 20;
}

static void describe(struct sim_machine *machine, int number, int ordinal)
{
	sim_describe_device(number, &machine->facts);
	machine->facts.ordinal = ordinal;
	machine->number = number;
	machine->slot_count = (int)sim_setting("kernel_slots", 8);
	if (machine->slot_count < 1 || machine->slot_count > SIM_SLOTS_MAX)
		machine->slot_count = SIM_SLOTS_MAX;
	machine->arena = sim_arena_new(machine->facts.capacity, false);
}

/* "GPU-" and the first digits of the device's own: 8, 4, 4, 4, 12 of them. */
static bool is_uuid_of(const char *text, size_t length, int number)
{
	struct sim_device facts;
	char all[48] = "GPU-";
	size_t at = 4;

	sim_describe_device(number, &facts);
	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(all + at, sizeof all - at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			facts.uuid[i]);
	return length > 4 && length <= at && strncmp(text, all, length) == 0;
}

/* The machine's number of a word of CUDA_VISIBLE_DEVICES: an ordinal or the beginning of a UUID; -1 = none. */
static int visible_number(const char *word, size_t length, int count)
{
	char *end;
	long number = strtol(word, &end, 10);

	if (length && end == word + length)
		return number >= 0 && number < count ? (int)number : -1;
	for (int i = 0; i < count; i++)
		if (is_uuid_of(word, length, i))
			return i;
	return -1;
}

/* Devices of the machine that CUDA_VISIBLE_DEVICES shows, in its order; the first word that names none ends the list. */
static int list_visible(int count)
{
	const char *word = getenv("CUDA_VISIBLE_DEVICES");
	int shown = 0, number;

	if (!word) {
		for (; shown < count; shown++)
			describe(&machines[shown], shown, shown);
		return shown;
	}
	for (;; word++) {
		size_t length = strcspn(word, ",");

		number = visible_number(word, length, count);
		if (number < 0 || shown == SIM_DEVICES_MAX)
			return shown;
		describe(&machines[shown], number, shown);
		shown++;
		word += length;
		if (!*word)
			return shown;
	}
}

/* What CUDA_INJECTION64_PATH promises: the library is loaded and entered inside cuInit. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *handle = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*enter)(void) = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;

	if (enter)
		enter();
}

static void start(void)
{
	int count;

	sim_scenario_load();
	sim_clock_start();
	if (sim_setting("no_driver", 0)) {
		start_error = SIM_INSUFFICIENT_DRIVER;
		return;
	}
	start_error = (int)sim_setting("init_error", 0);
	if (start_error)
		return;
	count = (int)sim_setting("devices", 1);
	machine_count = list_visible(count < 0 || count > SIM_DEVICES_MAX ? SIM_DEVICES_MAX : count);
	if (!machine_count)
		start_error = SIM_NO_DEVICE;
	sim_oracle_start();
	pthread_atfork(NULL, NULL, note_fork);
	atexit(sim_finish);
	state = 1;
	inject();
	sim_tell_resource(&(struct sim_resource){.kind = SIM_INIT_FINISHED});
}

int sim_init(void)
{
	pthread_once(&once, start);
	return is_fork_child ? SIM_NOT_INITIALIZED : start_error;
}

int sim_check(void)
{
	if (is_fork_child || state == 0)
		return SIM_NOT_INITIALIZED;
	if (state == 2)
		return SIM_DEINITIALIZED;
	if (sim_in_host_function)
		return SIM_NOT_PERMITTED;
	return start_error;
}

void sim_finish(void)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	if (state != 1 || is_fork_child)
		return;
	if (subscriber && subscriber->finishing)
		subscriber->finishing();
	state = 2;
	sim_engine_stop();
	sim_oracle_finish();
}

bool sim_is_finished(void)
{
	return state == 2;
}

bool sim_is_initialized(void)
{
	return state == 1 && !is_fork_child;
}

bool sim_is_fork_child(void)
{
	return is_fork_child;
}

struct sim_machine *sim_machine_at(int ordinal)
{
	return ordinal >= 0 && ordinal < machine_count ? &machines[ordinal] : NULL;
}

int sim_device_count(void)
{
	return machine_count;
}

struct sim_device *sim_device_at(int ordinal)
{
	return ordinal >= 0 && ordinal < machine_count ? &machines[ordinal].facts : NULL;
}
