/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As results.c, for the hooked functions about descriptors, processes and objects: prints what each returned and what
 * became of errno, which is 1234 before the call. Run with and without the library, the lines must be equal.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void status(const char *what, long value)
{
	int after = errno;
	printf("%s: %ld errno %d\n", what, value, after);
	errno = 1234;
}

/* The wait status of a child that does `act` and then leaves by 9. */
static void in_child(const char *what, void (*act)(void))
{
	fflush(stdout);
	pid_t child = fork();
	int result = 0;
	if (!child) {
		errno = 1234;
		act();
		_exit(9);
	}
	errno = 1234;
	while (waitpid(child, &result, 0) < 0 && errno == EINTR)
		;
	status(what, result);
}

static char *const words[] = {"sh", "-c", "exit $#", "a", "b", "c", "d", NULL};
static char *const nothing[] = {"nothing", NULL};

static void by_execve(void) { execve("/bin/sh", words, environ); }
static void by_execv(void) { execv("/bin/sh", words); }
static void by_execvp(void) { execvp("sh", words); }
static void by_execvpe(void) { execvpe("sh", words, environ); }
static void by_execl(void) { execl("/bin/sh", "sh", "-c", "exit $#", "a", "b", "c", "d", "e", "f", "g", "h", (char *)NULL); }
static void by_execlp(void) { execlp("sh", "sh", "-c", "exit $#", "a", "b", (char *)NULL); }
static void by_execle(void) { execle("/bin/sh", "sh", "-c", "exit $X", (char *)NULL, (char *const[]){"X=21", NULL}); }
static void by_fexecve(void) { fexecve(open("/bin/sh", O_RDONLY), words, environ); }
static void by_execveat(void) { execveat(open("/bin", O_PATH), "sh", words, environ, 0); }
static void by_raw_execve(void) { syscall(SYS_execve, "/bin/sh", words, environ); }
static void by_raw_execveat(void) { syscall(SYS_execveat, AT_FDCWD, "/bin/sh", words, environ, 0); }
static void by_exit(void) { exit(11); }
static void by__Exit(void) { _Exit(12); }
static void by_quick_exit(void) { quick_exit(13); }
static void by_abort(void) { setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}), abort(); }
static void by_pthread_exit(void) { pthread_exit(NULL); }
static void by_raw_exit(void) { syscall(SYS_exit_group, 14); }
static void by_thread_exit(void) { syscall(SYS_exit, 15); }

#define WORDS_MOST 1000000

/* Whether /bin/true starts with so many words. */
static int is_short_enough(char **many, size_t count, int is_spawn)
{
	static char *const environment[] = {"LD_PRELOAD=", NULL};
	char *next = many[count];
	int result = 0;
	pid_t child = -1;

	many[count] = NULL;
	if (is_spawn)
		result = posix_spawn(&child, "/bin/true", NULL, NULL, many, environment);
	else if (!(child = fork()))
		_exit(execve("/bin/true", many, environment) ? 1 : 0);
	many[count] = next;
	if (!result)
		waitpid(child, &result, 0);
	return !result;
}

static int most_words(int is_spawn)
{
	static char *many[WORDS_MOST + 1];
	size_t low = 1, high = WORDS_MOST;

	for (size_t i = 0; i < WORDS_MOST; i++)
		many[i] = "a word of 24 characters.";
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		*(is_short_enough(many, middle, is_spawn) ? &low : &high) = middle;
	}
	return (int)low;
}

static void failing_execs(void)
{
	status("execve of nothing", execve("/nowhere", nothing, environ));
	status("execv of nothing", execv("/nowhere", nothing));
	status("execvp of nothing", execvp("no-such-program", nothing));
	status("execvpe of nothing", execvpe("no-such-program", nothing, environ));
	status("execl of nothing", execl("/nowhere", "nothing", "more", (char *)NULL));
	status("execlp of nothing", execlp("no-such-program", "nothing", (char *)NULL));
	status("execle of nothing", execle("/nowhere", "nothing", (char *)NULL, environ));
	status("execve of a directory", execve("/", nothing, environ));
	status("execve of no program", execve("/etc/passwd", nothing, environ));
	status("fexecve of nothing", fexecve(-1, nothing, environ));
	status("execveat of nothing", execveat(-1, "nowhere", nothing, environ, 0));
	status("execve of nothing by syscall", (int)syscall(SYS_execve, "/nowhere", nothing, environ));
	status("most words of execve", most_words(0));
	status("most words of posix_spawn", most_words(1));
}

static void spawns(void)
{
	pid_t child = 0;
	int result = 0;
	status("posix_spawn of nothing", posix_spawn(&child, "/nowhere", NULL, NULL, nothing, environ));
	status("posix_spawnp of nothing", posix_spawnp(&child, "no-such-program", NULL, NULL, nothing, environ));
	status("posix_spawn", posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ));
	status("its end", waitpid(child, &result, 0) == child ? result : -1);
	status("posix_spawnp", posix_spawnp(&child, "sh", NULL, NULL, words, environ));
	status("its end", waitpid(child, &result, 0) == child ? result : -1);
	status("posix_spawn without child", posix_spawn(NULL, "/bin/sh", NULL, NULL, words, environ));
	status("its end", wait(&result) > 0 ? result : -1);
	status("system", system("exit 5"));
}

static void descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY), other = open("/dev/zero", O_RDONLY);
	status("lowest descriptors", fd * 100 + other);
	status("close(-1)", close(-1));
	status("close(99)", close(99));
	status("dup2(-1)", dup2(-1, 5));
	status("dup2 to -1", dup2(fd, -1));
	status("dup2 to itself", dup2(fd, fd) == fd);
	status("dup2", dup2(fd, 50));
	status("dup2 beyond", dup2(fd, 1 << 30));
	status("dup3 to itself", dup3(fd, fd, 0));
	status("dup3", dup3(fd, 51, O_CLOEXEC));
	status("its flag", fcntl(51, F_GETFD));
	status("dup3 bad flag", dup3(fd, 52, 12345));
	status("close_range", close_range(50, 51, 0));
	status("close(50)", close(50));
	status("close_range backwards", close_range(60, 50, 0));
	status("close_range bad flag", close_range(60, 70, 12345));
	status("close_range CLOEXEC", close_range(3, 1000000, CLOSE_RANGE_CLOEXEC));
	status("its flag", fcntl(fd, F_GETFD));
	closefrom(3);
	status("closefrom", close(fd));
	status("lowest again", open("/dev/null", O_RDONLY));
	for (int i = 3; i < 1024; i++)
		close(i);
	status("close of all", open("/dev/null", O_RDONLY));
}

static void *returned(void *argument)
{
	return argument;
}

static void others(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	void *result = NULL, *object;
	status("unshare of nothing", unshare(0));
	status("unshare bad", unshare(0x7f));
	status("setns bad", setns(-1, 0));
	status("prctl name", prctl(PR_SET_NAME, "results", 0, 0, 0));
	status("prctl bad", prctl(123456, 0, 0, 0, 0));
	status("syscall", syscall(SYS_getppid) == getppid());
	status("syscall bad", syscall(99999));
	status("syscall close", syscall(SYS_close, 999));
	pthread_attr_init(&attributes);
	status("pthread_create", pthread_create(&thread, NULL, returned, (void *)77));
	status("pthread_join", pthread_join(thread, &result));
	status("its result", (long)result);
	pthread_attr_setstacksize(&attributes, (size_t)1 << 60);
	status("pthread_create of a huge stack", pthread_create(&thread, &attributes, returned, NULL));
	object = dlopen("libm.so.6", RTLD_NOW);
	status("dlopen", object != NULL);
	status("dlsym", object && dlsym(object, "cosh"));
	status("dlclose", dlclose(object));
	status("dlerror", dlerror() != NULL);
	status("dlopen of nothing", dlopen("/nowhere.so", RTLD_NOW) != NULL);
	status("dlerror of it", strstr(dlerror(), "/nowhere.so") != NULL);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 65536);
	free(malloc(100));
	errno = 1234;
	others();
	failing_execs();
	spawns();
	in_child("execve", by_execve), in_child("execv", by_execv), in_child("execvp", by_execvp);
	in_child("execvpe", by_execvpe), in_child("execl", by_execl), in_child("execlp", by_execlp);
	in_child("execle", by_execle), in_child("fexecve", by_fexecve), in_child("exit", by_exit), in_child("_Exit", by__Exit);
	in_child("quick_exit", by_quick_exit), in_child("abort", by_abort), in_child("pthread_exit", by_pthread_exit);
	in_child("exit_group", by_raw_exit), in_child("exit of a thread", by_thread_exit), in_child("execveat", by_execveat);
	in_child("execve by syscall", by_raw_execve), in_child("execveat by syscall", by_raw_execveat);
	descriptors();
	return 0;
}
