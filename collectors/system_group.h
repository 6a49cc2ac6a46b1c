/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the process's control group is.
 *
 * Rule: of the levels above the process the one with the tightest memory limit counts, since that is the one that kills;
 * where none has a limit, its own. Hierarchies of version 1 and 2 may be mounted side by side.
 */
#ifndef TFP_COLLECTORS_SYSTEM_GROUP_H
#define TFP_COLLECTORS_SYSTEM_GROUP_H

#include <stddef.h>

#define TFP_GROUP_PATH 1024 /* bytes of a folder's path; a longer one is as good as none */

enum tfp_group_kind { TFP_GROUP_MEMORY, TFP_GROUP_CPU, TFP_GROUP_ACCOUNT, TFP_GROUP_IO, TFP_GROUP_KINDS };

struct tfp_group {
	int version; /* 0: not found, 1, 2 */
	char folder[TFP_GROUP_PATH];
};

/* Whole of a text file at `to`, terminated; bytes without the terminator, or -errno. */
typedef long tfp_group_text(const char *path, char *to, size_t room);

/*
 * Fills `groups` from the texts of /proc/self/cgroup and /proc/self/mountinfo; both are ended by a 0 byte. `text_of` is asked for
 * memory limits; `room` has TFP_GROUP_PATH + 64 bytes for it.
 */
void tfp_group_find(const char *membership, const char *mounts, tfp_group_text *text_of, char *room,
		    struct tfp_group groups[TFP_GROUP_KINDS]);

#endif
