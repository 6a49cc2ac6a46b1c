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
 * `name`, as the object that `inside` lies in exports it, leads to `ours` from now on. What it led to before, or NULL: it has
 * no such name, or it was left as it is. Once a name and object. Takes the loader's lock.
 */
void *tfp_signpost_turn(const void *inside, const char *name, const void *ours);

#endif
