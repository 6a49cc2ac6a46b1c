/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libcupti lies; see collectors/cupti_api.h.
 *
 * Rule: the copy that the host has mapped comes first, then the one that belongs to the CUDA runtime it has mapped, then
 * what the loader finds, then the toolkit that the user names, then the wheel among the Python packages that the host has mapped
 * something of: two copies in one process fight for one subscriber. Then what this machine has: /usr/local/cuda, the toolkit of the
 * nvcc and the packages of the Python on the search path, toolkits of single releases. Never newer than the driver.
 */
#include "collectors/cupti_state.h"

#include "collectors/loader.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDERS 12   /* of objects that may have CUPTI beside them */
#define PACKAGES 4   /* a virtual environment, the user's own, the system's */
#define PATH 512
#define LINKS 4      /* a program's name may be a link to a link */
#define NEWEST_RELEASE 139 /* 13.9: folders of toolkits are named by release */
#define OLDEST_RELEASE 117
#define NEWEST_PYTHON 15 /* 3.15: folders of packages are named by release */
#define PYTHONS 8        /* down to 3.8 */

/* Newest first. `major` is CUDA's: a driver serves its own and older ones. */
static const struct library {
	uint32_t major;
	const char *name;
} libraries[] = {
	{13, "libcupti.so.13"},
	{12, "libcupti.so.12"},
	{11, "libcupti.so.11.8"},
	{11, "libcupti.so.11.7"},
};
#define LIBRARIES (sizeof libraries / sizeof libraries[0])

/* From a folder with a CUDA library to one with CUPTI: the same, a wheel's sibling, the toolkit's extras. */
static const char *const beside[] = {
	"", "/../../cuda_cupti/lib", "/../../nvidia/cuda_cupti/lib", "/../../nvidia/cu13/lib", "/../extras/CUPTI/lib64",
	"/../../../extras/CUPTI/lib64",
};

struct folders {
	uint32_t count;
	uint32_t major; /* of the mapped runtime, 0 = none */
	char paths[FOLDERS][PATH];
	uint32_t package_count;
	char packages[PACKAGES][PATH]; /* folders of Python's packages that something is mapped from */
	char program[PATH], place[PATH]; /* what is being tried: a program of the search path, a folder */
};

static size_t copy_text(char *to, size_t at, const char *text)
{
	size_t length = tfp_length(text);

	if (at + length >= PATH)
		return PATH;
	tfp_copy(to + at, text, length + 1);
	return at + length;
}

static uint32_t number_at(const char *digit)
{
	uint32_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++)
		number = number * 10 + (uint32_t)(*digit - '0');
	return number;
}

/* Objects beside which CUPTI is looked for: the runtime, and what is installed with it. */
static int is_of_cuda(const char *base)
{
	return tfp_begins_with(base, "libcudart.so") || tfp_begins_with(base, "libtorch_cuda") || tfp_begins_with(base, "libcublas") ||
	       tfp_begins_with(base, "libnvrtc.so") || tfp_begins_with(base, "libc10_cuda");
}

/* .../site-packages or dist-packages of a path, each once. */
static void note_packages(struct folders *folders, const char *name)
{
	size_t length = 0;

	for (const char *at = name; at && *at && !length; at++)
		if (tfp_begins_with(at, "/site-packages/") || tfp_begins_with(at, "/dist-packages/"))
			length = (size_t)(at - name) + sizeof "/site-packages" - 1;
	if (!length || length >= PATH || folders->package_count == PACKAGES)
		return;
	for (uint32_t i = 0; i < folders->package_count; i++)
		if (tfp_length(folders->packages[i]) == length && tfp_same(folders->packages[i], name, length))
			return;
	char *path = folders->packages[folders->package_count++];
	tfp_copy(path, name, length);
	path[length] = 0;
}

/* Under the loader's lock: copies names, calls nobody. */
static int note_object(struct dl_phdr_info *info, size_t bytes, void *into)
{
	struct folders *folders = into;
	const char *name = info->dlpi_name, *base = name ? tfp_base_name(name) : NULL;
	static const char runtime[] = "libcudart.so.";

	(void)bytes;
	note_packages(folders, name);
	if (!name || base == name || !is_of_cuda(base) || folders->count == FOLDERS || base - name > PATH)
		return 0;
	char *path = folders->paths[folders->count++];
	uint32_t major = tfp_begins_with(base, runtime) ? number_at(base + sizeof runtime - 1) : 0;
	if (major > folders->major) { /* the newest runtime's own folder is the first to be looked into */
		folders->major = major;
		if (path != folders->paths[0])
			tfp_copy(path, folders->paths[0], PATH);
		path = folders->paths[0];
	}
	tfp_copy(path, name, (size_t)(base - name) - 1);
	path[base - name - 1] = 0;
	return 0;
}

/* Keeps how the library was named: its path where we gave one. */
static void *open_at(struct tfp_cupti_api *api, const char *folder, const char *more, const char *name)
{
	char path[PATH];
	size_t at = copy_text(path, 0, folder);

	at = at < PATH ? copy_text(path, at, more) : at;
	at = at < PATH ? copy_text(path, at, "/") : at;
	at = at < PATH ? copy_text(path, at, name) : at;
	void *object = at < PATH ? tfp_loader_open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (object)
		copy_text(api->path, 0, path);
	return object;
}

static void *open_beside(struct tfp_cupti_api *api, const struct folders *folders, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		if (libraries[i].major > most || (folders->major && libraries[i].major != folders->major))
			continue;
		for (size_t k = 0; k < folders->count * (sizeof beside / sizeof beside[0]); k++) {
			void *object = open_at(api, folders->paths[k % folders->count], beside[k / folders->count],
					       libraries[i].name);
			if (object)
				return object;
		}
	}
	return NULL;
}

/* By name alone: mapped already (flags with RTLD_NOLOAD), or wherever the loader looks. */
static void *open_by_name(struct tfp_cupti_api *api, int flags, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		void *object = libraries[i].major <= most ? tfp_loader_open(libraries[i].name, flags) : NULL;
		if (!object)
			continue;
		copy_text(api->path, 0, libraries[i].name);
		return object;
	}
	return NULL;
}

/* One copy in a folder of libraries, the newest that the driver serves. */
static void *open_newest(struct tfp_cupti_api *api, const char *folder, const char *more, uint32_t most)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		void *object = libraries[i].major <= most ? open_at(api, folder, more, libraries[i].name) : NULL;
		if (object)
			return object;
	}
	return NULL;
}

/* From a toolkit's folder; the last: one of wheels. */
static const char *const in_toolkit[] = {"/extras/CUPTI/lib64", "/lib64", "/lib", NULL};

/* From that of its programs. */
static const char *const beside_programs[] = {"/../extras/CUPTI/lib64", "/../lib64", "/../lib", NULL};

/* From that of Python's packages. */
static const char *const in_package[] = {"/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib", NULL};

static void *open_in(struct tfp_cupti_api *api, const char *root, const char *const *inside, uint32_t most)
{
	void *object = NULL;

	for (; *inside && !object; inside++)
		object = open_newest(api, root, *inside, most);
	return object;
}

static void *open_in_packages(struct tfp_cupti_api *api, const struct folders *folders, uint32_t most)
{
	void *object = NULL;

	for (uint32_t i = 0; i < folders->package_count && !object; i++)
		object = open_in(api, folders->packages[i], in_package, most);
	return object;
}

static int is_there(const char *path)
{
	return tfp_sys(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) == 0;
}

/* Toolkits of which nobody made a link /usr/local/cuda. */
static void *open_in_releases(struct tfp_cupti_api *api, uint32_t most)
{
	char root[] = "/usr/local/cuda-MM.m";
	void *object = NULL;

	for (uint32_t release = NEWEST_RELEASE; release >= OLDEST_RELEASE && !object; release--) {
		root[sizeof root - 5] = (char)('0' + release / 100);
		root[sizeof root - 4] = (char)('0' + release / 10 % 10);
		root[sizeof root - 2] = (char)('0' + release % 10);
		object = release / 10 <= most && is_there(root) ? open_in(api, root, in_toolkit, most) : NULL;
	}
	return object;
}

/* The packages of the Python whose program lies in folders->place: of a virtual environment, of conda, of Debian's. */
static void *open_of_python(struct tfp_cupti_api *api, struct folders *folders, uint32_t most)
{
	static const char *const fronts[] = {"/../lib/python3.", "/../local/lib/python3."};
	static const char *const backs[] = {"/site-packages", "/dist-packages"};
	size_t length = tfp_length(folders->place);
	void *object = NULL;

	for (uint32_t i = 0; i < 4 * PYTHONS && !object; i++) {
		uint32_t minor = NEWEST_PYTHON - i / 4;
		char number[] = {(char)(minor / 10 ? '0' + minor / 10 : '0' + minor), minor / 10 ? (char)('0' + minor % 10) : 0, 0};
		size_t at = copy_text(folders->place, length, fronts[i / 2 % 2]);
		at = at < PATH ? copy_text(folders->place, at, number) : at;
		at = at < PATH ? copy_text(folders->place, at, backs[i % 2]) : at;
		object = at < PATH && is_there(folders->place) ? open_in(api, folders->place, in_package, most) : NULL;
	}
	return object;
}

/* path: a link; it becomes what the link says. 0 = it is none. */
static __attribute__((noinline)) int follow(char *path)
{
	char target[PATH];
	size_t folder = 0;
	long length = tfp_sys(SYS_readlinkat, AT_FDCWD, (long)path, (long)target, sizeof target - 1, 0, 0);

	if (length <= 0)
		return 0;
	target[length] = 0;
	for (size_t i = 0; target[0] != '/' && path[i]; i++)
		folder = path[i] == '/' ? i + 1 : folder;
	return copy_text(path, folder, target) < PATH;
}

/* Where folders->program, or what its name is a link to, lies beside CUPTI: nvcc in a toolkit, Python with packages. */
static void *open_around(struct tfp_cupti_api *api, struct folders *folders, int is_python, uint32_t most)
{
	void *object = NULL;

	for (int links = 0; links < LINKS && !object && is_there(folders->program); links++) {
		size_t end = tfp_length(folders->program);
		while (end && folders->program[end] != '/')
			end--;
		tfp_copy(folders->place, folders->program, end);
		folders->place[end] = 0;
		object = is_python ? open_of_python(api, folders, most) : open_in(api, folders->place, beside_programs, most);
		if (!follow(folders->program))
			break;
	}
	return object;
}

/* search: as PATH is written. */
static void *open_on_path(struct tfp_cupti_api *api, struct folders *folders, const char *search, const char *name, uint32_t most)
{
	void *object = NULL;

	while (*search && !object) {
		size_t length = 0;
		while (search[length] && search[length] != ':')
			length++;
		if (*search == '/' && length < PATH) {
			tfp_copy(folders->program, search, length);
			if (copy_text(folders->program, length, name) < PATH)
				object = open_around(api, folders, name[1] == 'p', most);
		}
		search += length + (search[length] == ':');
	}
	return object;
}

/* What lies nowhere that this program points to. */
static void *open_elsewhere(struct tfp_cupti_api *api, struct folders *folders, const char *search, uint32_t most)
{
	void *object = open_on_path(api, folders, search, "/nvcc", most);

	if (!object)
		object = open_on_path(api, folders, search, "/python3", most);
	if (!object)
		object = open_on_path(api, folders, search, "/python", most);
	return object ? object : open_in_releases(api, most);
}

void *tfp_cupti_find(struct tfp_cupti_api *api, const struct tfp_cupti_places *places)
{
	uint32_t most = api->driver >= 1000 ? api->driver / 1000 : UINT32_MAX; /* without an answer any is tried */
	struct folders *folders = tfp_pages_get(sizeof *folders, 0);
	void *object = open_by_name(api, RTLD_NOW | RTLD_NOLOAD, UINT32_MAX);

	if (folders && !object) {
		dl_iterate_phdr(note_object, folders);
		object = open_beside(api, folders, most);
	}
	if (!object)
		object = open_by_name(api, RTLD_NOW | RTLD_LOCAL, most);
	if (!object && *places->toolkit)
		object = open_in(api, places->toolkit, in_toolkit, most);
	if (folders && !object)
		object = open_in_packages(api, folders, most);
	if (!object)
		object = open_in(api, "/usr/local/cuda", in_toolkit, most);
	if (folders && !object)
		object = open_elsewhere(api, folders, places->search, most);
	if (folders)
		tfp_pages_put(folders, sizeof *folders);
	return object;
}
