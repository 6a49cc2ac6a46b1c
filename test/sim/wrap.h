/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes exported functions from the rows of driver_api.def and runtime_api.def.
 *
 *	SIM_API(name, cbid, need, count, types...)		a function with a body: do_name in one of the front's files
 *	SIM_TWIN(twin, name, cbid, need, count, types...)	the same body with another default stream (name_ptsz, name_ptds)
 *	SIM_NOT(name, cbid, need, count, types...)		one that the simulator does not have: says 801
 *
 * need: see the fronts. A wrapper tells the subscriber of enter and exit, with the arguments in a struct, and calls the body.
 * Rule: types are this folder's own; pointers to structs are void *.
 */
#ifndef TFPROF_TEST_SIM_WRAP_H
#define TFPROF_TEST_SIM_WRAP_H

#include "inner.h"

struct sim_dim3 {
	unsigned x, y, z;
};
struct sim_extent {
	size_t width, height, depth;
};
struct sim_pitched {
	void *pointer;
	size_t pitch, width, height;
};

#define SIM_DECLARE_0() void
#define SIM_DECLARE_1(A) A a
#define SIM_DECLARE_2(A, B) A a, B b
#define SIM_DECLARE_3(A, B, C) A a, B b, C c
#define SIM_DECLARE_4(A, B, C, D) A a, B b, C c, D d
#define SIM_DECLARE_5(A, B, C, D, E) A a, B b, C c, D d, E e
#define SIM_DECLARE_6(A, B, C, D, E, F) A a, B b, C c, D d, E e, F f
#define SIM_DECLARE_7(A, B, C, D, E, F, G) A a, B b, C c, D d, E e, F f, G g
#define SIM_DECLARE_8(A, B, C, D, E, F, G, H) A a, B b, C c, D d, E e, F f, G g, H h
#define SIM_DECLARE_9(A, B, C, D, E, F, G, H, I) A a, B b, C c, D d, E e, F f, G g, H h, I i
#define SIM_DECLARE_10(A, B, C, D, E, F, G, H, I, J) A a, B b, C c, D d, E e, F f, G g, H h, I i, J j
#define SIM_DECLARE_11(A, B, C, D, E, F, G, H, I, J, K) A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k

#define SIM_FIELDS_0() char none;
#define SIM_FIELDS_1(A) A a;
#define SIM_FIELDS_2(A, B) A a; B b;
#define SIM_FIELDS_3(A, B, C) A a; B b; C c;
#define SIM_FIELDS_4(A, B, C, D) A a; B b; C c; D d;
#define SIM_FIELDS_5(A, B, C, D, E) A a; B b; C c; D d; E e;
#define SIM_FIELDS_6(A, B, C, D, E, F) A a; B b; C c; D d; E e; F f;
#define SIM_FIELDS_7(A, B, C, D, E, F, G) A a; B b; C c; D d; E e; F f; G g;
#define SIM_FIELDS_8(A, B, C, D, E, F, G, H) A a; B b; C c; D d; E e; F f; G g; H h;
#define SIM_FIELDS_9(A, B, C, D, E, F, G, H, I) A a; B b; C c; D d; E e; F f; G g; H h; I i;
#define SIM_FIELDS_10(A, B, C, D, E, F, G, H, I, J) A a; B b; C c; D d; E e; F f; G g; H h; I i; J j;
#define SIM_FIELDS_11(A, B, C, D, E, F, G, H, I, J, K) A a; B b; C c; D d; E e; F f; G g; H h; I i; J j; K k;

#define SIM_PASS_0
#define SIM_PASS_1 a
#define SIM_PASS_2 a, b
#define SIM_PASS_3 a, b, c
#define SIM_PASS_4 a, b, c, d
#define SIM_PASS_5 a, b, c, d, e
#define SIM_PASS_6 a, b, c, d, e, f
#define SIM_PASS_7 a, b, c, d, e, f, g
#define SIM_PASS_8 a, b, c, d, e, f, g, h
#define SIM_PASS_9 a, b, c, d, e, f, g, h, i
#define SIM_PASS_10 a, b, c, d, e, f, g, h, i, j
#define SIM_PASS_11 a, b, c, d, e, f, g, h, i, j, k

/* begin(call, need): SIM_OK when the body may run. end(call, result): what the function returns. */
#define SIM_FUNCTION(domain_, exported, body, cbid_, is_twin, need, count, ...) \
	SIM_EXPORT int exported(SIM_DECLARE_##count(__VA_ARGS__)); \
	int exported(SIM_DECLARE_##count(__VA_ARGS__)) \
	{ \
		struct { \
			SIM_FIELDS_##count(__VA_ARGS__) \
		} params = {SIM_PASS_##count}; \
		int result; \
		struct sim_call call = {.domain = domain_, .cbid = cbid_, .name = #exported, .params = &params, \
					.result = &result, .is_per_thread = is_twin}; \
\
		result = SIM_BEGIN(&call, need); \
		if (!result) \
			result = body; \
		return SIM_END(&call, result, &result); \
	}

#define SIM_BODY(name, count, ...) int do_##name(SIM_DECLARE_##count(__VA_ARGS__));

#endif
