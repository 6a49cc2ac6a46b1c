/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenario files: what the simulated machine is like and what goes wrong on it. One line is `key value`; blank lines and
 * lines that begin with # are skipped; of a key given twice the last line counts, except where "many" stands.
 * `simgpu --scenario FILE` names one; `simgpu -s 'key value'` adds a line.
 *
 * The machine
 *	devices N		how many (default 1, at most 16); 0: cuInit says 100
 *	device_name TEXT	name of each
 *	compute_major N, compute_minor N, sm_count N
 *	capacity_mib N		memory of each device (16384)
 *	reserved_mib N		of it, taken before the first allocation (512)
 *	copy_engines N		1 or 2 (2)
 *	kernel_slots N		kernels at once on a device (8)
 *	queue_depth N		kernels in the launch queue of a device before a launch blocks (1024)
 *	peer_access 0|1		devices reach each other (1)
 *	driver_version N	as cuDriverGetVersion says it (13000)
 *	runtime_version N	as cudaRuntimeGetVersion says it (by the soname)
 *	no_driver 1		every call says cudaErrorInsufficientDriver
 *	init_error N		cuInit fails with this
 *
 * Time
 *	time paced|virtual	paced: device time passes as real time does (default). virtual: a clock of its own, which moves
 *				by host_ns a call and leaps when the host waits: exact and repeatable for one thread
 *	virtual_start NS	where the virtual clock starts (default: CLOCK_REALTIME then)
 *	host_ns N		virtual: what a call costs (1000)
 *	launch_asks N		a launch of the runtime's asks the driver something by a call of its own: 1 before it (as is usual),
 *				2 behind it, 3 both, 0 neither
 *	drift_ppb N		the device's clock runs that much fast (0; negative allowed)
 *	offset_ns N		and is that far ahead at the start (0; negative allowed)
 *	step AT_MS BY_NS	many: AT_MS after the start the device's clock jumps
 *	granularity_ns N	device times are multiples of it (1)
 *	launch_ns N		from submission to the earliest start (1500)
 *
 * Durations
 *	kernel PATTERN NS	many: kernels whose mangled name matches (fnmatch); the first match counts
 *	kernel_ns N		all others: base (2000), plus kernel_block_ns for each block and SM ...
 *	kernel_block_ns N	... (200), at most kernel_most_ns
 *	kernel_most_ns N	(2000000)
 *	kernel_jitter_ns N	random, 0 to N-1, by the seed (0)
 *	copy_ns N, copy_bytes_per_us N, copy_inside_bytes_per_us N, set_bytes_per_us N	(1200, 25000, 1500000, 2500000)
 *	host_function_ns N	(5000)
 *	jit_ns N		PTX takes so long to compile, asleep (0)
 *	conditional_turns N	how often the body of a WHILE node runs whose condition is not 0 (3)
 *	conditional_value N	of a condition without a default value (0)
 *	slow_call NAME NS	many: that API function takes so long more, asleep, before it does anything
 *
 * Memory
 *	pool_waste_percent N	of what a pool holds lies in holes that fit nothing (0)
 *
 * Faults of the core (those of CUPTI: see cupti_faults.c)
 *	fault_launch N CODE	many: the Nth launch of the process returns CODE and does nothing
 *	fault_kernel N CODE	many: the Nth kernel breaks its context with CODE (700, 719 ...): sticky
 *	fault_alloc N CODE	many: the Nth allocation call returns CODE
 *	fault_call NAME N CODE	many: the Nth call of that API function returns CODE and does nothing
 *	device_lost N		at the Nth launch the device is lost: nothing later runs, every call says 46
 *	correlation_first N	the first correlation id (1): near 2^32 it wraps
 */
#ifndef TFPROF_TEST_SIM_SCENARIO_H
#define TFPROF_TEST_SIM_SCENARIO_H
#endif
