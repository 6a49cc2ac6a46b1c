/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hook of pthread_create: whoever looks at other threads begins with the first one, and our own thread follows it.
 *
 * Rule: what must be opened is opened before the thread is there, while nobody can count on the numbers of descriptors.
 */
#include "collectors/heap.h"
#include "collectors/native_time.h"
#include "collectors/system.h"
#include "preload/dynamic.h"
#include "preload/python.h"
#include "preload/real.h"
#include "writer/drain.h"
#include "writer/stream.h"

#include <errno.h>
#include <pthread.h>

TFP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	tfp_resolve();
	tfp_thread_have(); /* a fork child that calls nothing else of ours begins here */
	tfp_system_threading();
	tfp_python_threading();
	tfp_native_time_threading();
	if (TFP_UNLIKELY(!tfp_real.pthread_create)) /* libpthread, before glibc 2.34, comes with what a program opens */
		*(void **)(void *)&tfp_real.pthread_create = tfp_dynamic_next("pthread_create");
	int error = tfp_real.pthread_create ? tfp_real.pthread_create(thread, attributes, start, argument) : EAGAIN;

	if (TFP_UNLIKELY(error == EAGAIN) && tfp_drain_has_thread()) {
		tfp_drain_pause(); /* at a limit of threads ours makes room for the host's */
		error = tfp_real.pthread_create(thread, attributes, start, argument);
	} else if (!error) {
		tfp_drain_start(tfp_real.pthread_create);
	}
	return error;
}
