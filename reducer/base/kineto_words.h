/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How PyTorch's profiler names copies: "Memcpy HtoD (Pageable -> Device)". For reading its files and for writing such.
 *
 * Rule: the place is the number, CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind; 0 is what is not said.
 */
#ifndef REDUCER_BASE_KINETO_WORDS_H
#define REDUCER_BASE_KINETO_WORDS_H

#define KINETO_COPIES {"", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"}
#define KINETO_MEMORIES {"", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}

#endif
