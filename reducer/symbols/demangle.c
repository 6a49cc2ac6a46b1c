/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linker names as people wrote them.
 *
 * Rule: bounded. The demangler can neither be interrupted nor given a limit, so its output callback leaves it by longjmp
 * once enough text is there; its callback interface keeps everything but decoded Rust identifiers on the stack.
 */
#include "reducer/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct demangling {
	struct text *out;
	jmp_buf enough;
};

static void demangle_take(const char *bytes, size_t length, void *context)
{
	struct demangling *state = context;

	if (state->out->length + length > DEMANGLE_OUT_MAX)
		longjmp(state->enough, 1);
	text_put(state->out, bytes, length);
}

static bool demangle_with(int (*reader)(const char *, int, demangle_callbackref, void *), const char *name, int options,
			  struct text *out)
{
	struct demangling state = {.out = out};

	text_clear(out);
	if (setjmp(state.enough)) {
		text_string(out, "...");
		return true;
	}
	return reader(name, options, demangle_take, &state) && out->length;
}

/* Spellings that the library's authors never meant to be read, and what people call them. */
static const struct {
	const char *longer, *shorter;
} nicknames[] = {
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
	{"std::__cxx11::", "std::"},
	{"std::__1::", "std::"},
	{"(anonymous namespace)", "(anonymous)"},
};

static void replace_all(struct text *text, const char *longer, const char *shorter)
{
	size_t from = strlen(longer), to = strlen(shorter);
	char *hit = text->bytes;

	while (text->length && (hit = strstr(hit, longer))) {
		size_t rest = text->length - (size_t)(hit - text->bytes) - from;
		memcpy(hit, shorter, to);
		memmove(hit + to, hit + from, rest + 1);
		text->length -= from - to;
		hit += to;
	}
}

bool demangle(const char *name, struct text *out)
{
	bool good = false;

	if ((name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) && strnlen(name, DEMANGLE_IN_MAX) < DEMANGLE_IN_MAX) {
		good = demangle_with(rust_demangle_callback, name, DMGL_RUST, out);
		if (!good && name[1] == 'Z')
			good = demangle_with(cplus_demangle_v3_callback, name, DMGL_ANSI, out);
	}
	if (!good) {
		text_clear(out);
		text_string(out, name);
		return false;
	}
	for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++)
		replace_all(out, nicknames[i].longer, nicknames[i].shorter);
	return true;
}
