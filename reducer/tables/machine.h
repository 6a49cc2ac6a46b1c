/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine kept from a process while it ran: processors by a limit or by other virtual machines, memory, the devices' clocks.
 *
 * Rule: from readings (TFPROF_SYS) as they are, by the ones around the time that is asked for; where these lie far outside of it there is
 * no answer. Negative = not known.
 */
#ifndef REDUCER_TABLES_MACHINE_H
#define REDUCER_TABLES_MACHINE_H

#include "reducer/base/base.h"
#include "reducer/model/run.h"

struct machine_kept {
	double limited;	     /* of the control group's periods, those in which its processor time was used up; 0 = no limit */
	double processors;   /* that the control group may use: quota by period, the last that was read; 0 = no limit */
	double stolen;	     /* of the machine's time on processors (programs, kernel, stolen), what other virtual machines had */
	double memory_stall; /* of the time, some task of the control group waited for memory; without a word of that, of the machine */
	bool is_groups_stall; /* the group's */
};

/* As a process read it from `from_ns` to `to_ns`. */
struct machine_kept machine_kept_from(const struct process *process, int64_t from_ns, int64_t to_ns);

/* A device's readings within a time. */
struct machine_device {
	uint32_t device;     /* as the process calls it */
	double lowered;	     /* of the time, its clocks were lowered by a limit of power or heat, or by its hardware */
	uint64_t reasons;    /* of those: bits of nvmlClocksEventReasons */
	double clock, clock_most; /* MHz of the multiprocessors: on average while they were lowered; the highest */
	double clock_mean;   /* MHz, on average of all the time; 0 = not told */
	double lost;	     /* of what the multiprocessors could have done in all the time at their highest clock, by that */
	double shared;	     /* of the time, more processes computed on it than this run is known to have there */
};

/* How many; devices on which the process ran nothing, and of which too little was read, are left out. */
#define MACHINE_DEVICES 16
size_t machine_devices(struct machine_device devices[MACHINE_DEVICES], const struct run *run, size_t process, int64_t from_ns,
		       int64_t to_ns);

/* A stretch of a process's time. */
struct machine_stretch {
	int64_t from_ns, to_ns;
};
/* What the machine kept back in the later one and did not in the earlier: sentences, each with a blank before it, or nothing. */
void machine_say_since(struct text *text, const struct run *run, size_t process, struct machine_stretch before,
		       struct machine_stretch now);

/* "1 processor", "0.5 processors". */
void machine_put_processors(struct text *words, double processors);

/* Bit of nvmlClocksEventReasons: the device drew as much power as it may. */
#define MACHINE_POWER_CAP 0x4

/* "power cap, temperature" appended: nvmlClocksEventReasons in words. */
void machine_put_reasons(struct text *words, uint64_t bits);

#endif
