/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How PyTorch's profiler names copies: "Memcpy HtoD (Pageable -> Device)", steps, and types of tensors. For reading its files and for
 * writing such.
 *
 * Rule: of copies the place is the number, CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind; 0 is what is not said. Types that
 * are not listed have one name in its files and in our logs.
 */
#ifndef REDUCER_BASE_KINETO_WORDS_H
#define REDUCER_BASE_KINETO_WORDS_H

#define KINETO_COPIES {"", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"}
#define KINETO_MEMORIES {"", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}
#define KINETO_STEP_NAME "ProfilerStep#" /* and its number */
#define KINETO_STEP_DIGITS 18u	    /* of a number that our tables can show */

#include <stdbool.h>
#include <string.h>

/* A name that only begins so has no number, and is a range like any other. */
static inline bool kineto_is_step(const char *name)
{
	const char *number = name + sizeof(KINETO_STEP_NAME) - 1;

	if (strncmp(name, KINETO_STEP_NAME, sizeof(KINETO_STEP_NAME) - 1) != 0)
		return false;
	size_t digits = strspn(number, "0123456789");
	return digits > 0 && digits <= KINETO_STEP_DIGITS && !number[digits];
}

/* Ours (collectors/pytorch_layout.c), then its. */
#define KINETO_TYPES                                                                                                             \
	{                                                                                                                        \
		{"int64", "long int"}, {"int32", "int"}, {"int16", "short int"}, {"int8", "signed char"},                        \
			{"uint8", "unsigned char"}, {"half", "c10::Half"}, {"bfloat16", "c10::BFloat16"},                        \
			{"cfloat", "c10::complex<float>"}, {"cdouble", "c10::complex<double>"},                                  \
			{"float8_e5m2", "c10::Float8_e5m2"}, {"float8_e4m3fn", "c10::Float8_e4m3fn"},                            \
	}

#endif
