/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: which programs a list of the settings ONLY and SKIP means, and which word is nearest to a misspelt one.
 *
 * Rule: as settings_parse.h says, nothing is called. A program is judged by its file name alone.
 */
#include "preload/settings_parse.h"

#include "writer/poison.h"

/*
 * Programs that `SKIP=default` passes over: those that jobs start by the hundred around the program that is meant, and
 * whose own memory nobody asks for. Three kinds: shells and the helpers that scripts are made of; tools that build
 * software (frameworks compile kernels at run time through them); tools that look at the machine (frameworks and
 * launchers call them at start). Not interpreters (python, perl, node, java): they are what people profile.
 */
static const char *const default_skip[] = {
	/* shells and their helpers */
	"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "env", "nice", "ionice",
	"nohup", "setsid", "stdbuf", "timeout", "time", "xargs", "parallel", "find", "grep", "egrep", "fgrep", "sed", "awk",
	"gawk", "mawk", "cat", "cp", "mv", "rm", "ln", "ls", "mkdir", "rmdir", "mktemp", "touch", "chmod", "chown", "cut",
	"tr", "tee", "head", "tail", "wc", "uniq", "expr", "seq", "sleep", "date", "dirname", "basename", "readlink",
	"realpath", "pwd", "printf", "echo", "test", "[", "true", "false", "which", "tput", "stty", "tty", "clear", "less",
	"more", "sudo", "su",
	/* tools that build software */
	"gcc", "g++", "cc", "c++", "cpp", "gcc-[0-9]*", "g++-[0-9]*", "*-gcc", "*-g++", "*-gcc-[0-9]*", "*-g++-[0-9]*",
	"clang*", "cc1", "cc1plus", "collect2", "lto1", "lto-wrapper", "as", "*-as", "ld", "ld.*", "*-ld", "*-ld.*", "ar",
	"ranlib", "nm", "strip", "objcopy", "objdump", "readelf", "make", "gmake", "cmake", "ninja", "meson", "ccache",
	"pkg-config", "nvcc", "cicc", "ptxas", "fatbinary", "nvlink", "cudafe++", "rustc", "cargo",
};

/* Tools that look at the machine or the source tree: passed over, too, and such as start nothing that anybody asks for. */
static const char *const default_tools[] = {
	"git", "git-*", "uname", "hostname", "id", "whoami", "getconf", "ldconfig", "ldconfig.real", "ldd", "lscpu",
	"lspci", "lsof", "ps", "pgrep", "top", "free", "df", "nproc", "file", "stat", "nvidia-smi",
};

#define SKIPPED ((int)(sizeof default_skip / sizeof default_skip[0]))
#define TOOLS ((int)(sizeof default_tools / sizeof default_tools[0]))

const char *tfp_settings_default_skip(int number)
{
	if (number < 0 || number >= SKIPPED + TOOLS)
		return NULL;
	return number < SKIPPED ? default_skip[number] : default_tools[number - SKIPPED];
}

/* `pattern` up to `end` against the name: * is any letters, [0-9] one digit, everything else itself. */
static int matches(const char *pattern, const char *end, const char *name)
{
	const char *retry = NULL, *retry_name = NULL;

	for (;;) {
		int is_digit = end - pattern >= 5 && pattern[0] == '[' && pattern[1] == '0' && pattern[4] == ']';

		if (pattern == end && !*name)
			return 1;
		if (pattern < end && *pattern == '*') {
			retry = ++pattern;
			retry_name = name;
		} else if (pattern < end && *name && (is_digit ? *name >= '0' && *name <= '9' : *name == *pattern)) {
			pattern += is_digit ? 5 : 1;
			name++;
		} else if (retry && *retry_name) {
			pattern = retry;
			name = ++retry_name;
		} else {
			return 0;
		}
	}
}

static const char *end_of(const char *text, char stop)
{
	while (*text && *text != stop)
		text++;
	return text;
}

static int is_skipped_by_default(const char *program, int from)
{
	const char *pattern;
	int i;

	for (i = from; (pattern = tfp_settings_default_skip(i)); i++)
		if (matches(pattern, end_of(pattern, 0), program))
			return 1;
	return 0;
}

int tfp_settings_names_program(const char *list, const char *program)
{
	static const char word[] = "default";
	const char *end;

	for (; *list; list = *end ? end + 1 : end) {
		end = end_of(list, ',');
		if (matches(list, end, program))
			return 1;
		if (matches(list, end, word) && *list != '*' && is_skipped_by_default(program, 0))
			return 1;
	}
	return 0;
}

int tfp_settings_skips_tool(const char *list, const char *program)
{
	return is_skipped_by_default(program, SKIPPED) && tfp_settings_names_program(list, program);
}

#define WORD_MAX 31 /* letters compared; the longest setting has 9 */
#define FAR 99

static char plain(char c)
{
	if (c == '-')
		return '_';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edit distance (insert, delete, replace: 1 each; Wagner and Fischer), one row of the table at a time. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1], columns = (unsigned)(end_of(b, 0) - b), i, j;

	if (columns > WORD_MAX || end_of(a, 0) - a > WORD_MAX)
		return FAR;
	for (j = 0; j <= columns; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (j = 1; j <= columns; j++) {
			unsigned replace = corner + (plain(a[i - 1]) != plain(b[j - 1]));

			corner = row[j];
			row[j] = least(replace, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[columns];
}

int tfp_nearest_word(const char *word, const char *const *words, int count)
{
	unsigned best = FAR, length = (unsigned)(end_of(word, 0) - word);
	int i, nearest = -1;

	for (i = 0; i < count; i++) {
		unsigned d = distance(word, words[i]);

		if (d < best) {
			best = d;
			nearest = i;
		}
	}
	/* More than half of the letters wrong is no likeness: a person would be misled. */
	return best * 2 <= length + 1 ? nearest : -1;
}
