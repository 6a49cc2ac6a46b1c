/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CUPTI collector share. Rule: nobody else includes this. */
#ifndef TFP_COLLECTORS_CUPTI_STATE_H
#define TFP_COLLECTORS_CUPTI_STATE_H

#include "collectors/cupti.h"
#include "collectors/cupti_decode.h"

enum tfp_cupti_phase {
	TFP_CUPTI_COLD = 0,
	TFP_CUPTI_KNOWN = 1,
	TFP_CUPTI_ON = 2,
	TFP_CUPTI_TAKEN = 3,   /* by another profiler; asked again each flush period */
	TFP_CUPTI_YIELDED = 4, /* to one that we saw come, and shall see leave */
	TFP_CUPTI_REFUSED = 5,
	TFP_CUPTI_FAILED = 6,
	TFP_CUPTI_ENDED = 7,
};

/* gpu_state.state */
enum tfp_gpu_state {
	TFP_GPU_STATE_CUPTI = 1,
	TFP_GPU_STATE_REFUSED = 2,
	TFP_GPU_STATE_TAKEN = 3,
	TFP_GPU_STATE_CLOSED = 4,
	TFP_GPU_STATE_FAILED = 5,
	TFP_GPU_STATE_ENDS = 6,
};

/* In the place of a context's id: launches were in more than one; or in one that a kernel's error has stopped, so that none has an end. */
#define TFP_CUPTI_SEVERAL UINT32_MAX
#define TFP_CUPTI_BROKEN  (UINT32_MAX - 1)

/* What CUPTI keeps for the whole process, whoever set it. A length of 0: it did not say. */
#define TFP_CUPTI_SET 4 /* attributes that we change */
struct tfp_cupti_settings {
	uint64_t attributes[TFP_CUPTI_SET];
	size_t bytes[TFP_CUPTI_SET];
	uint32_t thread_id_type;
};

/* In pages that a fork child finds empty. */
struct tfp_cupti {
	_Atomic uint32_t phase;       /* enum tfp_cupti_phase */
	_Atomic uint32_t is_busy;     /* somebody is changing the phase or the kinds; never waited for */
	_Atomic uint32_t is_open;     /* a window is */
	_Atomic uint32_t is_enabled;  /* the kinds are */
	_Atomic uint32_t launching;   /* the context of all launches inside windows; 0 = none yet; TFP_CUPTI_SEVERAL, TFP_CUPTI_BROKEN */
	_Atomic uint32_t is_fragile;  /* not to be entered before a device was seen */
	_Atomic uint32_t has_callbacks;
	_Atomic uint32_t is_reading;  /* somebody decodes; never waited for */
	_Atomic uint32_t end_asked, end_done; /* futexes: the exit flush */
	_Atomic uint32_t fetch_asked, fetch_done; /* counters; the second a futex */
	_Atomic uint32_t fetch_is_last;
	_Atomic uint64_t newest;      /* correlation id, 64 bits */
	_Atomic uint64_t last_launch; /* largest one of a kernel launched inside a window, of threads without a state */
	_Atomic uint64_t close_time;  /* ticks; 0 = no window is closing */
	_Atomic uint64_t code_ticks, code_facts; /* spent on, written of loaded code */
	_Atomic uint64_t code_skipped;
	uint64_t next_flush, next_clock; /* ticks; our thread */
	uint64_t noted_lost, noted_unreadable, noted_forgotten;
	uint32_t is_deaf;             /* callbacks were refused: only records tell correlation ids */
	uint32_t is_lossy;            /* records were lost: that some are missing says nothing of the device */
	uint32_t is_told;             /* the log says which CUPTI this is */
	uint32_t is_described;        /* the driver was asked for the devices, which CUPTI did not tell of */
	uint32_t is_managed;          /* unified memory is watched, or was refused */
	uint32_t quiet_flushes;       /* in a row that brought nothing, since the window closed */
	uint32_t result;              /* the last CUptiResult that meant something */
	void *subscriber;
	struct tfp_cupti_settings found; /* by us, of CUPTI as a whole */
	struct tfp_cupti_api api;
	struct tfp_cupti_decoder decoder;
};

/* NULL until the driver was seen; kept across fork, what it points to is not. */
extern struct tfp_cupti *tfp_cupti TFP_HIDDEN;
extern struct tfp_cupti_options tfp_cupti_options TFP_HIDDEN;

/* cupti.c: does what the windows, the driver and other profilers ask for. `may_wait`: our thread, which may take its time. */
void tfp_cupti_apply(int may_wait);

/* cupti.c: CUPTI as it was found, for a profiler of the host; its thread waits for a step of ours, 100 ms at most. Back again. */
void tfp_cupti_step_aside(void);
void tfp_cupti_come_back(void);

/* cupti_others.c: a profiler of the host has it; the clock that one gave it, NULL = none. */
int tfp_cupti_is_held(void);
tfp_cupti_clock *tfp_cupti_their_clock(void);

/* cupti_others.c: notes, once, that one who unsubscribed keeps CUPTI by kinds that it does not give up. Our thread. */
void tfp_cupti_tell_left(int is_end);

/* cupti_kinds.c: attributes, kinds and callbacks. 0, or a result when nothing could be had. */
uint32_t tfp_cupti_prepare(struct tfp_cupti *cupti);
void tfp_cupti_restore(struct tfp_cupti *cupti); /* what prepare changed */
uint32_t tfp_cupti_enable(struct tfp_cupti *cupti);
void tfp_cupti_disable(struct tfp_cupti *cupti);
void tfp_cupti_ask_callbacks(struct tfp_cupti *cupti, int is_wanted);
void tfp_cupti_enable_managed(struct tfp_cupti *cupti);
void tfp_cupti_note(const char *name, const char *text, uint64_t number);
void tfp_cupti_pair(uint8_t tag, const char *name, const char *text, uint64_t number); /* TFP_TAG_note or TFP_TAG_host */

/* cupti_callbacks.c: functions whose calls are asked for, and what CUPTI then calls. */
struct tfp_cupti_row {
	uint16_t domain, cbid;
	uint8_t is_launch; /* of a kernel or a graph */
	uint8_t is_sync;   /* returns when the device has done something */
	char kind[8];      /* word of the function fact */
	uint16_t name;     /* where it begins in the names of cupti_callbacks.c: no pointer, which the loader would write in each process */
};
extern const struct tfp_cupti_row tfp_cupti_rows[] TFP_HIDDEN;
extern const uint32_t tfp_cupti_row_count TFP_HIDDEN;

/*
 * Launches whose device records have not come yet, of all threads. WAITED: each thread has since waited for the device, which
 * then has none to tell of: a graph without kernels, copies and sets has no records.
 */
enum tfp_cupti_outstanding { TFP_CUPTI_ALL_SEEN = 0, TFP_CUPTI_WAITED = 1, TFP_CUPTI_UNWAITED = 2 };
enum tfp_cupti_outstanding tfp_cupti_outstanding(const struct tfp_cupti *cupti);

/* CUPTI's callback: on the thread of the host's call, at its begin and its end. */
void tfp_cupti_called(void *user, uint32_t domain, uint32_t cbid, const void *data);

/* cupti_task.c: our thread's work. Milliseconds until the next time. */
uint32_t tfp_cupti_task(struct tfp_thread *self);

/* Reads every buffer that CUPTI gave back. The lane's thread; nothing where another is at it. Returns records read. */
uint64_t tfp_cupti_read_all(struct tfp_cupti *cupti, struct tfp_thread *thread, struct tfp_lane *lane);

/* A gpu_state record of the calling thread. */
void tfp_cupti_put_state(uint32_t state, uint32_t result);

/* The number of devices that the driver has, or -1 while it does not answer. cupti_api.c */
int tfp_cupti_devices(void);

#endif
