/* SPDX-License-Identifier: Apache-2.0 */
/* TraceMe events and allocations of TensorFlow. Private to collectors/tensorflow*.c; the rule of tensorflow.h holds. */
#ifndef TFP_COLLECTORS_TENSORFLOW_TRACE_H
#define TFP_COLLECTORS_TENSORFLOW_TRACE_H

#include "collectors/tensorflow.h"
#include "writer/stream.h"

/* The lane to write to, inside a window and outside of our own calls; NULL = nothing. Pairs with tfp_thread_leave. */
struct tfp_thread *tfp_tensorflow_enter(struct tfp_lane **lane);

/* Something was not as believed: what, and that it is off. */
void tfp_tensorflow_refuted(const char *what);

/* Once, before anything is switched on. */
void tfp_tensorflow_begin_trace(const struct tfp_tensorflow_api *api);

/* Whether ops are seen where devices compute them, so that no annotations are needed. Once, before any device is made. */
int tfp_tensorflow_begin_compute(const struct tfp_tensorflow_api *api);

/* Before ops run: whether those of devices made meanwhile are seen, too. */
void tfp_tensorflow_look_at_devices(void);

/* The length of a name up to its '#', behind which its arguments stand. */
size_t tfp_tensorflow_plain(const char *name, size_t length);

/* Where the next ",key=" of arguments begins, or the end: a comma that no word and '=' follow belongs to the value. */
const char *tfp_tensorflow_piece_end(const char *at, const char *end);

/* The thread's page that texts are put together in; NULL = no memory. */
#define TFP_TENSORFLOW_PAGE 4096u
char *tfp_tensorflow_page(struct tfp_thread *thread);

#endif
