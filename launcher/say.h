/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfprof says about itself, on stderr only: stdout belongs to the program it runs.
 */
#ifndef TFPROF_LAUNCHER_SAY_H
#define TFPROF_LAUNCHER_SAY_H

/* Exit statuses of tfprof itself, as env(1), nohup(1) and shells use them; any other is the program's. */
enum say_status { SAY_FAILED = 125, SAY_NOT_EXECUTABLE = 126, SAY_NOT_FOUND = 127 };

/* One line "tfprof: ..." on stderr. */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, then exit(SAY_FAILED). */
void say_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* malloc'ed text, never NULL (dies when there is no memory). The caller frees it. */
char *say_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same: `word` as a shell takes it, in quotes where it needs them, with nothing in it that a terminal obeys. */
char *say_word(const char *word);

#endif
