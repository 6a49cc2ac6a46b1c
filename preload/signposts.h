/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of another library that lead to us, also for who asks the loader for them.
 *
 * A preloaded function is found by name alone. TensorFlow and JAX open libcupti and look its functions up with dlsym, which
 * asks that library's own table: their profilers would not be seen to come, and be refused, because CUPTI serves one. So the
 * table's entry, in this process's memory, is made to lead to us.
 *
 * Rule: only for CUPTI's few functions of subscribing; one word a name, in a page of the library's that becomes a copy of our
 * own. Where memory may not be changed nothing happens: then the first profiler stays.
 */
#ifndef TFP_PRELOAD_SIGNPOSTS_H
#define TFP_PRELOAD_SIGNPOSTS_H

/*
 * `name`, as the object that `inside` lies in exports it, leads to `ours` from now on. Returns 0, and *behind, written first, is what it
 * led to before; or -1, and nothing was changed: it has no such name, it leads to `ours` already, or it was left as it is. Takes the
 * loader's lock.
 */
int tfp_signpost_turn(const void *inside, const char *name, const void *ours, void **behind);

#endif
