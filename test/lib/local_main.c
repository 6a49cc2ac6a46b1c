/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a shared library that is loaded for itself alone (RTLD_LOCAL), as Python loads modules: local_main LIBRARY ARGUMENTS */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
	void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int, char **);

	*(void **)&run = library ? dlsym(library, "main") : NULL;
	if (!run) {
		puts(count > 1 ? dlerror() : "local_main LIBRARY [ARGUMENTS]");
		return 65;
	}
	return run(count - 1, words + 1);
}
