/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that guest code may not use: whoever writes one after this header gets a compile error.
 *
 * Rule: each guest .c file includes it last, after every header and table. A file that must name one of these stands in
 * scripts/lint/poison-exempt.txt with its reason. Names that are also structs or macros (stat, sigaction, stderr), and
 * what the compiler itself emits (memcpy for a struct), are left to scripts/lint/allowed-symbols.txt.
 */
#ifndef TFP_WRITER_POISON_H
#define TFP_WRITER_POISON_H

/* Settings and real functions are handed down from preload/. */
#pragma GCC poison getenv secure_getenv setenv putenv unsetenv
#pragma GCC poison dlopen dlmopen dlsym dlvsym dlerror dlclose dladdr dl_iterate_phdr

/* We run inside the allocator: pages come from tfp_pages_get. */
#pragma GCC poison malloc calloc realloc reallocarray free cfree posix_memalign aligned_alloc memalign valloc pvalloc
#pragma GCC poison strdup strndup asprintf vasprintf getline getdelim malloc_usable_size mallinfo mallinfo2

/* We print nothing, and stdio locks and allocates. */
#pragma GCC poison printf fprintf dprintf vprintf vfprintf sprintf snprintf vsnprintf puts fputs putchar perror
#pragma GCC poison fopen fdopen fclose fread fwrite fflush fgets fscanf sscanf popen syslog

/* We never end or signal the host, nor ask it to run code of ours at its end. */
#pragma GCC poison abort exit _exit _Exit quick_exit atexit on_exit raise kill tgkill __assert_fail longjmp siglongjmp

/* libc's system calls set errno, are cancellation points and may be interposed: tfp_sys makes them raw. */
#pragma GCC poison open openat open64 creat close read pread pread64 write pwrite pwrite64 readv writev lseek fsync
#pragma GCC poison fdatasync ftruncate fallocate posix_fallocate unlink rename mkdir rmdir readlink
#pragma GCC poison mmap mmap64 munmap mremap mprotect madvise brk sbrk memfd_create shm_open ioctl fcntl dup dup2 dup3
#pragma GCC poison getpid getppid gettid sysconf getpagesize syscall poll select nanosleep usleep sleep clock_nanosleep
#pragma GCC poison signal sigprocmask pthread_sigmask sigaltstack fork vfork clone execve waitpid prctl

/* Locks of the host, and libc state behind them. */
#pragma GCC poison pthread_mutex_lock pthread_mutex_unlock pthread_create pthread_join pthread_once pthread_key_create
#pragma GCC poison pthread_getattr_np pthread_setspecific pthread_getspecific pthread_atfork pthread_getname_np

/* libc's string functions may be interposed and resolve through ifuncs: tfp_copy, tfp_fill, tfp_same, tfp_length. */
#pragma GCC poison strlen strcmp strncmp strcpy strncpy strcat strchr strrchr strstr strtol strtoul strtoull strtod
#pragma GCC poison memcpy memmove memset memcmp memchr qsort bsearch localtime gmtime strftime strerror

#endif
