/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the process and its machine; see preload/facts.h. */
#include "preload/facts.h"

#include "collectors/process.h"
#include "collectors/title.h"
#include "preload/environment.h"
#include "preload/guard.h"
#include "preload/real.h"
#include "writer/records.h"
#include "writer/state.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "writer/poison.h"

#pragma weak gnu_get_libc_version /* guard.h says why */

#define COMMAND_BYTES 65536 /* of /proc/self/cmdline read; a longer command line is cut there */
#define WORD_MOST 4096      /* bytes of one argument kept */

/* Variables by which jobs tell ranks and devices apart; below, those that change how frameworks run. */
static const char *const told_variables[] = {
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "PMI_RANK",
	"PMI_SIZE", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "HOROVOD_RANK", "HOROVOD_SIZE",
	"HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT", "TF_CONFIG", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES",
	"JAX_COORDINATOR_ADDRESS", "TPU_WORKER_ID",
	"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "JOB_ID",
	"TF_GPU_THREAD_MODE", "TF_GPU_THREAD_COUNT", "TF_XLA_FLAGS", "XLA_FLAGS", "TF_GPU_ALLOCATOR", "TF_FORCE_GPU_ALLOW_GROWTH",
	"TF_ENABLE_ONEDNN_OPTS", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
	"CUDA_DEVICE_MAX_CONNECTIONS", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
};

/* What fork children need not ask again, at 5 to 20 us each. Written at start-up; kept across fork. */
static struct {
	uint8_t boot_id[16];
	int has_boot_id;
	uint32_t pid; /* of the last process that asked for its namespace; 0 = none */
	uint64_t pid_namespace;
	char cpu[49];
	char executable[1024];
} known;

/* Reads a small file whole; returns its length, 0 when it cannot. The text is terminated. */
static size_t read_file(const char *path, char *text, size_t room)
{
	long file = tfp_sys(SYS_openat, -100 /* AT_FDCWD */, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0), got = 0;
	size_t length = 0;

	if (file < 0)
		return 0;
	while (length + 1 < room && (got = tfp_sys(SYS_read, file, (long)text + (long)length, (long)(room - 1 - length), 0, 0, 0)) > 0)
		length += (size_t)got;
	tfp_sys(SYS_close, file, 0, 0, 0, 0, 0);
	text[length] = 0;
	return length;
}

static uint64_t take_number(const char **at)
{
	uint64_t value = 0;

	while (**at == ' ')
		++*at;
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (uint64_t)(**at - '0');
	return value;
}

/* Fields 4 (parent) and 22 (start) of a /proc/PID/stat; the command in field 2 may hold anything, so from its last ')'. */
static void read_stat(const char *path, uint32_t *parent, uint64_t *start)
{
	char text[1024];
	size_t length = read_file(path, text, sizeof text);

	while (length && text[length - 1] != ')')
		length--;
	if (!length)
		return;
	const char *at = text + length;
	at += *at == ' ' && at[1] ? 2 : 0; /* field 3: the state, one letter */
	*parent = (uint32_t)take_number(&at);
	for (int field = 5; field <= 22; field++) {
		while (*at == ' ' || *at == '-')
			at++;
		*start = take_number(&at);
	}
}

uint64_t tfp_facts_start_of(uint32_t pid)
{
	char path[32] = "/proc/";
	uint32_t unused;
	uint64_t start = 0;

	if (!pid)
		return 0;
	tfp_copy(tfp_write_number(path + 6, pid, 10), "/stat", 6);
	read_stat(path, &unused, &start);
	return start;
}

/* 32 hex digits among dashes: /proc/sys/kernel/random/boot_id. */
static void read_boot_id(uint8_t *id)
{
	char text[64];
	int nibble = 0;

	read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
	for (const char *at = text; *at && nibble < 32; at++) {
		int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
		if (digit >= 0) {
			id[nibble / 2] = (uint8_t)(id[nibble / 2] << 4 | digit);
			nibble++;
		}
	}
}

static int is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* A child has its parent's namespace where it sees its parent by the number that this one had; from outside of its own that is 0. */
static void find_place(struct tfp_file_header *header)
{
	struct stat status;

	if (!known.has_boot_id)
		read_boot_id(known.boot_id);
	known.has_boot_id = 1;
	if (!known.pid || known.pid != (uint32_t)tfp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0))
		known.pid_namespace = tfp_sys(SYS_newfstatat, -100, (long)"/proc/self/ns/pid", (long)&status, 0, 0, 0) ? 0 : status.st_ino;
	known.pid = header->pid;
	header->pid_namespace = known.pid_namespace;
	tfp_copy(header->boot_id, known.boot_id, sizeof header->boot_id);
}

void tfp_facts_place_unknown(void)
{
	known.pid = 0;
}

void tfp_facts_identity(struct tfp_file_header *header, char *host, size_t room)
{
	struct utsname machine;
	size_t length = 0;

	header->pid = (uint32_t)tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	header->parent_pid = (uint32_t)tfp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0);
	read_stat("/proc/self/stat", &header->parent_pid, &header->process_start);
	find_place(header);
	tfp_sys(SYS_prctl, 16 /* PR_GET_NAME */, (long)header->command, 0, 0, 0, 0);
#if defined __x86_64__
	header->architecture = EM_X86_64;
#elif defined __aarch64__
	header->architecture = EM_AARCH64;
#endif
	if (tfp_sys(SYS_uname, (long)&machine, 0, 0, 0, 0, 0) == 0)
		for (; machine.nodename[length] && length + 1 < room; length++)
			host[length] = is_plain(machine.nodename[length]) ? machine.nodename[length] : '_';
	if (!length || host[0] == '.')
		host[0] = '_';
	host[length ? length : 1] = 0;
}

static void note_words(const char *text, size_t length)
{
	size_t at = 0;

	for (uint64_t index = 0; at < length; index++) {
		size_t word = tfp_length(text + at);
		struct tfp_fact_field fields[2] = {
			{.number = index},
			{.is_text = 1, .text = {text + at, word < WORD_MOST ? word : WORD_MOST}},
		};
		tfp_store_fact(TFP_TAG_argument, fields, 2);
		at += word + 1;
	}
}

/* A fork child may have been given another title since: the kernel tells. */
static void note_arguments(void)
{
	size_t length = 0;
	const char *words = tfp_origin.is_fork_child ? NULL : tfp_environment_words(&length);
	char few[1024];

	if (!tfp_origin.is_fork_child)
		tfp_title_start(words);
	else
		tfp_title_look(tfp_now(), 0);
	if (!words) {
		words = few;
		length = read_file("/proc/self/cmdline", few, sizeof few);
	}
	if (words != few || length < sizeof few - 1) {
		note_words(words, length < COMMAND_BYTES ? length : COMMAND_BYTES);
		return;
	}
	char *text = tfp_pages_get(COMMAND_BYTES, 0);
	if (!text)
		return;
	note_words(text, read_file("/proc/self/cmdline", text, COMMAND_BYTES));
	tfp_pages_put(text, COMMAND_BYTES);
}

static void note_link(const char *name, const char *path, char *target, size_t room)
{
	long length = tfp_sys(SYS_readlinkat, -100, (long)path, (long)target, (long)room - 1, 0, 0);

	target[length > 0 ? length : 0] = 0;
	if (length > 0)
		tfp_fact_pair(TFP_TAG_host, name, target);
}

static void note_places(void)
{
	char directory[1024];

	if (known.executable[0])
		tfp_fact_pair(TFP_TAG_host, "executable", known.executable);
	else
		note_link("executable", "/proc/self/exe", known.executable, sizeof known.executable);
	note_link("directory", "/proc/self/cwd", directory, sizeof directory);
}

static void note_cpus(void)
{
	unsigned char mask[1024]; /* the kernel's set: 8192 processors */
	char text[TFP_NUMBER_ROOM + 1];
	long bytes = tfp_sys(SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
	unsigned count = 0;

	for (long i = 0; i < bytes; i++)
		for (unsigned bits = mask[i]; bits; bits &= bits - 1)
			count++;
	*tfp_write_number(text, count, 10) = 0;
	tfp_fact_pair(TFP_TAG_host, "cpus", text);
}

#if defined __x86_64__
/* As /proc/cpuinfo has it, whose opening and reading costs twice as much and, on old kernels with many processors, far more. */
static void read_cpu_name(char *text)
{
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t words[4] = {0x80000002u + i, 0, 0, 0};

		__asm__ volatile("cpuid" : "+a"(words[0]), "=b"(words[1]), "+c"(words[2]), "=d"(words[3]));
		tfp_copy(text + sizeof words * i, words, sizeof words);
	}
	for (size_t length = tfp_length(text); length && text[length - 1] == ' '; length--)
		text[length - 1] = 0;
}
#endif

static void note_cpu_name(void)
{
	const char *name = known.cpu;

#if defined __x86_64__
	if (!*name)
		read_cpu_name(known.cpu);
#endif
	while (*name == ' ')
		name++;
	if (*name)
		tfp_fact_pair(TFP_TAG_host, "cpu", name);
}

void tfp_facts_process(void)
{
	struct utsname machine;

	note_arguments();
	for (size_t i = 0; i < sizeof told_variables / sizeof *told_variables; i++) {
		const char *value = tfp_environment_get(told_variables[i]);
		if (value && tfp_length(value) <= WORD_MOST)
			tfp_fact_pair(TFP_TAG_environment, told_variables[i], value);
	}
	note_places();
	if (tfp_sys(SYS_uname, (long)&machine, 0, 0, 0, 0, 0) == 0) {
		tfp_fact_pair(TFP_TAG_host, "hostname", machine.nodename);
		tfp_fact_pair(TFP_TAG_host, "kernel", machine.release);
	}
	tfp_fact_pair(TFP_TAG_host, "libc", gnu_get_libc_version());
	if (tfp_real_allocator())
		tfp_fact_pair(TFP_TAG_host, "allocator", tfp_real_allocator());
	if (tfp_guard_allocator_before())
		tfp_fact_pair(TFP_TAG_host, "allocator_before", tfp_guard_allocator_before());
	note_cpus();
	note_cpu_name();
}
