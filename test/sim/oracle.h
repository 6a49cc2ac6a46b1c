/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle log: what really happened on the simulated GPU, written by the core when it happens, by a path of its own.
 *
 * `simgpu --oracle FILE` makes one file a process, FILE.PID, text, one line a fact, fields parted by tabs. Names have tab,
 * newline, backslash and bytes outside printable ASCII as \xNN. The file is mapped shared and grows by pages: a process
 * that is killed leaves all lines it wrote, perhaps followed by NUL bytes, which a reader skips.
 *
 * W stands for: NUMBER TID CORRELATION DEVICE CONTEXT STREAM START END GRAPH NODE
 *
 *	oracle	1 PID START
 *	device	DEVICE CAPACITY FREE
 *	kernel	W NAME GRID_X GRID_Y GRID_Z BLOCK_X BLOCK_Y BLOCK_Z STATIC DYNAMIC
 *	copy	W KIND BYTES SOURCE_KIND DESTINATION_KIND IS_ASYNC SOURCE DESTINATION
 *	set	W BYTES VALUE MEMORY_KIND IS_ASYNC DESTINATION
 *	graph	W
 *	event	W EVENT
 *	host	W
 *		work submitted; START and END: true time, ns; the device's clock may say otherwise (scenario). Kinds: core.h
 *	flush	FLAG TIME	CUPTI was asked to hand over what it has
 *	void	NUMBER		work that was submitted but never ran, because its device or context was lost
 *	call	TID CORRELATION DOMAIN CBID NAME START END RESULT OUTER
 *		an API call has returned; OUTER 1: made inside another
 *	wait	TID CORRELATION KIND CONTEXT STREAM EVENT START END
 *	memory	TID CORRELATION OPERATION KIND DEVICE CONTEXT STREAM ADDRESS BYTES TIME POOL
 *	info	DEVICE FREE TOTAL TIME		what cuMemGetInfo answered
 *	opened	DEVICE ADDRESS BYTES		memory of another process (IPC)
 *	exit	TIME		the program ended in an orderly way
 */
#ifndef TFPROF_TEST_SIM_ORACLE_H
#define TFPROF_TEST_SIM_ORACLE_H

void sim_oracle_start(void);
void sim_oracle_finish(void);
struct sim_work;
void sim_oracle_work(const struct sim_work *work);

#endif
