/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of code objects; see collectors/python_graves.h. */
#include "collectors/python_graves.h"

#include "collectors/python_objects.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define SIZE_LEAST 64u /* bytes of a code object without its code: 144 to 208 */
#define SIZE_MOST 1024u

_Atomic uint64_t tfp_python_graves[TFP_PYTHON_GRAVES];

static void (*real)(void *code);

static void code_ends(void *code)
{
	_Atomic uint64_t *grave = &tfp_python_graves[tfp_python_grave_of((uintptr_t)code)];

	__atomic_fetch_add((uint64_t *)grave, 1, __ATOMIC_RELEASE);
	real(code);
}

/* From where its head ends a type is {type, items, name, bytes of an object, of an item, end of an object, ...}, a word each. */
int tfp_python_graves_begin(void *type, uint32_t head)
{
	uintptr_t at = (uintptr_t)type + head, name, size, end;

	if (!type || head > TFP_PYTHON_HEAD_MOST || !tfp_python_is_mapped(at) || !tfp_python_is_mapped(at + TFP_PYTHON_TYPE_SLOT + 7))
		return 0;
	name = tfp_python_word(at + 16);
	size = tfp_python_word(at + 24);
	end = tfp_python_word(at + TFP_PYTHON_TYPE_SLOT);
	if (!name || !tfp_python_is_mapped(name) || !tfp_python_is_mapped(name + 4) || !tfp_same((const char *)name, "code", 5) ||
	    size < SIZE_LEAST || size > SIZE_MOST || !end || !tfp_python_is_mapped(end))
		return 0;
	real = (void (*)(void *))end;
	__atomic_store_n((uintptr_t *)(at + TFP_PYTHON_TYPE_SLOT), (uintptr_t)code_ends, __ATOMIC_RELEASE);
	return 1;
}
