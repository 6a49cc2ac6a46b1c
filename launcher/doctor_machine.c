/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor's checks of the machine: clock, C library, shared memory, limits, container, samples of native code.
 *
 * Rule: read what the kernel says under /proc and /sys, ask libc, change nothing.
 */
#include "launcher/doctor.h"

#include "launcher/say.h"

#include <gnu/libc-version.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads the first line of a file without its end; "" where it cannot be read. */
static void read_line(const char *path, char *to, size_t room)
{
	FILE *file = fopen(path, "re");

	to[0] = 0;
	if (!file)
		return;
	if (!fgets(to, (int)room, file))
		to[0] = 0;
	to[strcspn(to, "\n")] = 0;
	fclose(file);
}

/* The value of "Name:<blanks>value" in /proc/self/status; "" where there is none. */
static void read_status(const char *name, char *to, size_t room)
{
	char line[512];
	FILE *file = fopen("/proc/self/status", "re");

	to[0] = 0;
	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, name, strlen(name)) || line[strlen(name)] != ':')
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(to, room, "%s", line + strlen(name) + 1 + strspn(line + strlen(name) + 1, " \t"));
		break;
	}
	if (file)
		fclose(file);
}

void doctor_clock(struct doctor *doctor)
{
	char source[64];
	char *fact;
	int tsc = PR_TSC_ENABLE;

	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
	fact = say_text("clock source %s", source[0] ? source : "unknown");
#if defined(__x86_64__)
	if (prctl(PR_GET_TSC, &tsc))
		tsc = PR_TSC_ENABLE; /* a kernel without the call forbids nothing */
	if (tsc != PR_TSC_ENABLE)
		doctor_say(doctor, DOCTOR_NOTE, "clock", "the time stamp counter is forbidden to this process",
			   "times come from clock_gettime: each costs more, none is lost");
	else if (!source[0])
		doctor_say(doctor, DOCTOR_NOTE, "clock", fact,
			   "/sys cannot be read here; where the kernel does not trust the time stamp counter times come from "
			   "clock_gettime, which costs more");
	else if (strcmp(source, "tsc"))
		doctor_say(doctor, DOCTOR_NOTE, "clock", fact,
			   "the kernel does not trust the time stamp counter here: times come from clock_gettime, which costs "
			   "more");
	else
		doctor_say(doctor, DOCTOR_FINE, "clock", fact, "");
#else
	(void)tsc;
	doctor_say(doctor, DOCTOR_FINE, "clock", fact, "");
#endif
	free(fact);
}

/* Declared here because older headers lack it; only its presence is asked for. */
extern int _dl_find_object(void *address, void *result) __attribute__((weak));

void doctor_libc(struct doctor *doctor)
{
	char *fact = say_text("glibc %s", gnu_get_libc_version());

	if (_dl_find_object)
		doctor_say(doctor, DOCTOR_FINE, "libc", fact, "");
	else
		doctor_say(doctor, DOCTOR_LOSS, "libc", fact,
			   "without _dl_find_object (glibc 2.35) some stacks end early and say so; a newer system records them "
			   "whole");
	free(fact);
}

#define SHM_WANTED (UINT64_C(8) << 20) /* bytes of /dev/shm a process uses at most where the disk is not local */

void doctor_memory(struct doctor *doctor)
{
	struct statvfs space;
	uint64_t free_bytes;
	char *fact;

	if (statvfs("/dev/shm", &space)) {
		doctor_say(doctor, DOCTOR_NOTE, "shm", "there is no /dev/shm",
			   "it only matters where the output directory is on no local file system");
		return;
	}
	free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	fact = say_text("/dev/shm has %.0f MiB free", (double)free_bytes / 1048576);
	/* the library takes at most an eighth of what is free */
	doctor_say(doctor, free_bytes / 8 < SHM_WANTED ? DOCTOR_NOTE : DOCTOR_FINE, "shm", fact,
		   free_bytes / 8 < SHM_WANTED ? "little: it matters where the output directory is on no local file system" : "");
	free(fact);
}

#define FEW_DESCRIPTORS 64 /* programs that live with less exist, and then we may find none for the log */

void doctor_limits(struct doctor *doctor)
{
	struct rlimit limit;
	int complaints = 0;
	char *fact;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY) {
		fact = say_text("files may have at most %.1f MB here", (double)limit.rlim_cur / 1e6);
		doctor_say(doctor, DOCTOR_LOSS, "limits", fact,
			   "a log stops there and counts what it loses; `ulimit -f unlimited`");
		free(fact);
		complaints++;
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < FEW_DESCRIPTORS) {
		fact = say_text("%lu open files at most", (unsigned long)limit.rlim_cur);
		doctor_say(doctor, DOCTOR_LOSS, "limits", fact,
			   "a program that uses them all leaves none for the log; `ulimit -n 1024`");
		free(fact);
		complaints++;
	}
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) {
		fact = say_text("%.0f MiB of address space at most", (double)limit.rlim_cur / 1048576);
		doctor_say(doctor, DOCTOR_NOTE, "limits", fact, "the log's mappings count against it, about 4 MiB a process");
		free(fact);
		complaints++;
	}
	if (!complaints)
		doctor_say(doctor, DOCTOR_FINE, "limits", "file size, open files and address space suffice", "");
}

void doctor_container(struct doctor *doctor)
{
	char seccomp[32], tracer[32], pids[128];
	int complaints = 0;

	read_status("Seccomp", seccomp, sizeof seccomp);
	read_status("TracerPid", tracer, sizeof tracer);
	read_status("NSpid", pids, sizeof pids);
	if (!strcmp(seccomp, "1") || !strcmp(seccomp, "2")) {
		doctor_say(doctor, DOCTOR_NOTE, "container", "a seccomp filter is in force", "the trial above ran under it");
		complaints++;
	}
	if (strpbrk(pids, " \t") || !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK)) {
		doctor_say(doctor, DOCTOR_NOTE, "container", "this is a container",
			   "keep the output directory on a volume that outlives it");
		complaints++;
	}
	if (tracer[0] && strcmp(tracer, "0")) {
		doctor_say(doctor, DOCTOR_NOTE, "container", "a debugger traces this process",
			   "times will be those of a traced program");
		complaints++;
	}
	if (!complaints)
		doctor_say(doctor, DOCTOR_FINE, "container", "none seen, no seccomp filter, no tracer", "");
}

/* The right that collectors/native_ring.c needs. */
static bool may_sample(bool with_kernel)
{
	struct perf_event_attr wanted = {.type = PERF_TYPE_SOFTWARE,
					 .size = sizeof wanted,
					 .config = PERF_COUNT_SW_TASK_CLOCK,
					 .sample_period = 1000000,
					 .disabled = 1,
					 .exclude_kernel = !with_kernel,
					 .exclude_hv = 1};
	long event = syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (event >= 0)
		close((int)event);
	return event >= 0;
}

/* Whether the limit of locked memory leaves room for the pages of one sample: a part in 32 of it is taken, 20 KiB each. */
static bool may_lock(void)
{
	struct rlimit limit;

	return geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur / 32 >= 20 << 10;
}

void doctor_native(struct doctor *doctor)
{
	static const char waits[] = "where native code waits is known all the same, Python's lines, too";
	char seccomp[32], level[32];

	read_status("Seccomp", seccomp, sizeof seccomp);
	read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof level);
	if (strcmp(seccomp, "0")) {
		doctor_say(doctor, DOCTOR_NOTE, "native", "what native code runs is not sampled: a filter of system calls is in force",
			   waits);
	} else if (!may_lock()) {
		doctor_say(doctor, DOCTOR_NOTE, "native",
			   "what native code runs is not sampled: the limit of locked memory (ulimit -l) is below 640 KiB", waits);
	} else if (may_sample(true)) {
		doctor_say(doctor, DOCTOR_FINE, "native", "what native code runs is sampled, with its time in the kernel", "");
	} else if (may_sample(false)) {
		doctor_say(doctor, DOCTOR_FINE, "native", "what native code runs is sampled", "");
	} else {
		char *fact = say_text("what native code runs is not sampled: the kernel refuses perf_event_open "
				      "(kernel.perf_event_paranoid %s)",
				      level[0] ? level : "unknown");
		doctor_say(doctor, DOCTOR_NOTE, "native", fact, waits);
		free(fact);
	}
}
