/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the system that are read again and again: opened once, kept, and read where they stand.
 *
 * Rule: opening takes the lowest free number for a moment, which the host may count on: so files are opened when the process
 * has one thread if that can be had (before its first pthread_create), put at high numbers, and never trusted: before each
 * use the file behind the number is compared. Under a limit of 256 descriptors none is kept; else a part of them.
 *
 * Not from a descriptor table of our own thread's (close_range with CLOSE_RANGE_UNSHARE): the kernel first copies the host's
 * numbers below 64 whatever range is named, and then closes the copies. A pipe or a lock that the host closes meanwhile stays
 * open (7 of 1,000 starts of such a thread beside a program that does nothing else), files on FUSE and NFS are flushed, a
 * filter of system calls may kill for a call that the host never makes, and the log would need a second descriptor.
 */
#ifndef TFP_COLLECTORS_SYSTEM_FILES_H
#define TFP_COLLECTORS_SYSTEM_FILES_H

#include "collectors/system_text.h"
#include "writer/stream.h"

/* A file of ours, kept across fork: the child closes what it inherited. */
struct tfp_kept {
	int number; /* descriptor + 1; 0 = none */
	uint64_t device, inode;
};

/* Whether files are this process's to open: not in a child that only borrows our memory until it execs, and not past a seal. */
int tfp_kept_is_home(void);

/* Opens `path` below the kept folder (NULL: as it is). 0, or -errno. */
long tfp_kept_open(struct tfp_kept *file, const struct tfp_kept *folder, const char *path, long flags);

/* Closes it if it is still ours. */
void tfp_kept_close(struct tfp_kept *file);

/* Descriptor, or -1: the host has closed it or put a file of its own there; then it is none of ours from here on. */
long tfp_kept_number(struct tfp_kept *file);

/* Reads from its beginning. Bytes, or -errno; -EBADF where it is gone. */
long tfp_kept_read(struct tfp_kept *file, void *to, size_t room);

/*
 * How many may be kept by a process: of 32 descriptors that it may have one, 128 at most; and how many more of these, whoever has the
 * others. `more` are kept beside them.
 */
uint32_t tfp_kept_most(void);
uint32_t tfp_kept_room(uint32_t more);

/* Opens all files with figures; says in facts which. One thread at a time, as all below. */
void tfp_system_files_open(void);
void tfp_system_files_close(void);
uint32_t tfp_system_files_count(void);

/* Puts one reading of subject 0 for each figure found. is_all: also of the slow files. `room` is for texts. Returns files that
 * failed. */
uint32_t tfp_system_files_read(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, int is_all, char *room,
			       size_t bytes);

#endif
