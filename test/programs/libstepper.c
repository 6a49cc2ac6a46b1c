/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a reader of logs: lets the program that writes one go on for a step before each of its first STEPS reads. One byte
 * to STEPPER_ASK asks for it, one from STEPPER_DONE says that it is done. Without a partner (end of file) reads go on alone.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define STEPS 200 /* opening a young log and its first stacks take fewer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ask = -2, done, steps;

static void step(void)
{
	static pid_t reader; /* its children only look up names */
	char byte = 's';

	if (!reader)
		reader = getpid();
	if (getpid() != reader)
		return;
	pthread_mutex_lock(&lock);
	if (ask == -2) {
		ask = getenv("STEPPER_ASK") ? open(getenv("STEPPER_ASK"), O_WRONLY) : -1;
		done = ask >= 0 ? open(getenv("STEPPER_DONE"), O_RDONLY) : -1;
	}
	if (ask >= 0 && steps++ < STEPS && (write(ask, &byte, 1) != 1 || read(done, &byte, 1) != 1))
		ask = -1;
	pthread_mutex_unlock(&lock);
}

ssize_t pread(int descriptor, void *to, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, void *, size_t, off_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pread");
	step();
	return next(descriptor, to, bytes, offset);
}
