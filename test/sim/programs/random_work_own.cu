/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_work with each thread's own default stream (the Makefile compiles *_own.cu so): all calls are the twins named _ptsz
 * and _ptds.
 *
 * Rule: the same program.
 */
#include "random_work.cu"
