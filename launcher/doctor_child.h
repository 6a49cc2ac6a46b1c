/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of doctor in processes and folders of their own. Rule: what a trial makes is removed, what it starts has ended. */
#ifndef TFPROF_LAUNCHER_DOCTOR_CHILD_H
#define TFPROF_LAUNCHER_DOCTOR_CHILD_H

#include "launcher/doctor.h"

#include <stddef.h>

#define DOCTOR_RUN_PATIENCE 120 /* s: the first import of a large framework on a slow disk */

/* Runs a program, found as a shell finds it, with what it prints, errors too, in `to`; what does not fit is dropped. Its wait
 * status; killed by SIGALRM after `seconds`. */
int doctor_run(char *const *arguments, char *to, size_t room, unsigned seconds);

/* The same under the library, with its log in `folder`. */
int doctor_record(const struct doctor *doctor, const char *folder, char *const *arguments, char *to, size_t room);

/* A table of the logs in the folder as CSV, by the reducer beside us; "dump": all that they hold. Its wait status. */
int doctor_table(const char *folder, const char *table, char *text, size_t room);

/* A new folder for logs, in TMPDIR or /tmp; to be freed. NULL: none can be made. */
char *doctor_folder(void);

/* Removes a folder of ours with the files in it. */
void doctor_remove(const char *folder);

#endif
