/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of libc's function a caller was linked with, of the few whose older one does something else.
 *
 * What we export has no version, so the loader binds every one to it; a program of a libc before 2.15 counts on a posix_spawn that gives
 * a script without "#!" to the shell.
 */
#ifndef TFP_PRELOAD_LINKED_H
#define TFP_PRELOAD_LINKED_H

/*
 * The function `name` that the object with code at `caller` means; `usual`, which current programs mean, where that is not told: before
 * glibc 2.35, and where the call was the last act of a function of another object. Any thread, no lock.
 */
void *tfp_linked(void *usual, const char *name, const void *caller);

#endif
