/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library asks of the loader: to open objects, and for symbols by name. The one place that calls dlopen and the real dlsym.
 *
 * The loader keeps one message a thread, for the host's next dlerror; every dlopen, dlsym and dlclose takes away what is
 * there, also one that succeeds. So the host's is taken out before a question of ours and put back after it:
 *
 *   the host's dlsym fails      message "A"
 *   a question of ours          dlerror gives "A"; the question; a lookup that must fail for the name MARK "A"
 *   the host's dlerror (hooked) "...: undefined symbol: MARK A", of which the host is given "A"
 *
 * The loader itself keeps the text meanwhile, by thread and as long as it would without us, and what the host asks of it in between
 * replaces it as ever.
 *
 * Rule: neither errno nor the host's message is changed, and what the loader allocates is not the host's. A text that the host
 * has already been given by dlerror, it must not keep over a question of ours: the loader frees it.
 */
#ifndef TFP_COLLECTORS_LOADER_H
#define TFP_COLLECTORS_LOADER_H

/* The real functions behind the host's calls of that name; once, at start. Until then there is nothing to ask, and no message is kept. */
void tfp_loader_begin(char *(*error)(void), void *(*symbol)(void *, const char *));
void tfp_loader_can_close(int (*close)(void *));

/* The hook of dlerror: the host's message, or NULL. */
char *tfp_loader_error(void);

/* 0: a program of a libc before 2.34 that does without libdl: there is nothing to ask, and what follows finds nothing. */
int tfp_loader_is_there(void);

/* As dlopen and dlsym; `object` may be RTLD_NEXT (behind us) or RTLD_DEFAULT. NULL: there is none. Takes the loader's lock. */
void *tfp_loader_open(const char *path, int flags);
void *tfp_loader_symbol(void *object, const char *name);

/* As dlvsym; of no version: as dlsym. */
void *tfp_loader_version(void *object, const char *name, const char *version);

/* The symbol in the loaded object of that path or name, or in one that it needs; NULL: it is not loaded, or has none. version: as above. */
void *tfp_loader_symbol_in(const char *path, const char *name, const char *version);

#endif
