/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who looks symbols up by name: the hook of dlsym.
 *
 * What dlsym finds depends on who calls it (RTLD_NEXT, RTLD_DEFAULT, the namespace), by the address that it returns to. So the hook
 * is no function that calls the real one: it looks at the name, then jumps there, with the host's arguments and return address.
 *
 * Rule: names of CUPTI's alone are looked at more closely (preload/cupti.h); no answer is ever changed here.
 */
#ifndef TFP_PRELOAD_LOOKUPS_H
#define TFP_PRELOAD_LOOKUPS_H

/* Called by the hook; where it is to jump. Keeps errno. */
void *tfp_lookup_of(void *object, const char *name);

#endif
