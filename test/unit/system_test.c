/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures out of texts of the kernel, and the folder of a control group, of both versions.
 */
#include "collectors/system_group.h"
#include "collectors/system_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NONE UINT64_MAX

static uint64_t figure(const char *text, struct tfp_system_rule rule, tfp_system_filter *filter)
{
	uint64_t value;

	rule.scale = rule.scale ? rule.scale : 1;
	return tfp_system_figure(text, strlen(text), 0, &rule, filter, &value) ? NONE : value;
}

static void lines_and_words(void **state)
{
	static const char stat[] = "cpu  10 2 30 400 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
	static const char events[] = "low 0\nhigh 3\nmax 4\noom 1\noom_kill 2\n";
	static const char pressure[] =
		"some avg10=0.00 avg60=1.50 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n";

	(void)state;
	assert_int_equal(figure(stat, (struct tfp_system_rule){.line = "cpu", .words = 1 << 1 | 1 << 2}, NULL), 12);
	assert_int_equal(figure(stat, (struct tfp_system_rule){.line = "cpu", .words = 1 << 4, .scale = 10000000}, NULL),
			 4000000000u);
	assert_int_equal(figure(stat, (struct tfp_system_rule){.line = "cpu", .words = 1 << 11}, NULL), NONE);
	assert_int_equal(figure(stat, (struct tfp_system_rule){.line = "procs_running", .words = 2}, NULL), NONE);
	assert_int_equal(figure(events, (struct tfp_system_rule){.line = "max", .words = 2}, NULL), 4);
	assert_int_equal(figure(events, (struct tfp_system_rule){.line = "oom", .words = 2}, NULL), 1);
	assert_int_equal(figure(events, (struct tfp_system_rule){.line = "oom_kill", .words = 2}, NULL), 2);
	assert_int_equal(figure(pressure, (struct tfp_system_rule){.line = "some", .key = "total=", .scale = 1000}, NULL),
			 123000);
	assert_int_equal(figure(pressure, (struct tfp_system_rule){.line = "full", .key = "total="}, NULL), 45);
	assert_int_equal(figure("rchar: 18446744073709551615\n", (struct tfp_system_rule){.line = "rchar:", .words = 2}, NULL),
			 NONE);
	assert_int_equal(figure("rchar: 77", (struct tfp_system_rule){.line = "rchar:", .words = 2}, NULL),
			 77); /* no end of line */
	assert_int_equal(figure("", (struct tfp_system_rule){.line = "", .words = 1}, NULL), NONE);
	assert_int_equal(figure("\n\n", (struct tfp_system_rule){.line = "", .words = 1}, NULL), NONE);
}

static void no_limit_is_no_figure(void **state)
{
	const struct tfp_system_rule first = {.line = "", .words = 1}, second = {.line = "", .words = 2};

	(void)state;
	assert_int_equal(figure("max\n", first, NULL), NONE);
	assert_int_equal(figure("-1\n", first, NULL), NONE);
	assert_int_equal(figure("9223372036854771712\n", first, NULL), NONE);
	assert_int_equal(figure("1073741824\n", first, NULL), 1073741824);
	assert_int_equal(figure("max 100000\n", first, NULL), NONE);
	assert_int_equal(figure("max 100000\n", second, NULL), 100000);
	assert_int_equal(figure("0\n", first, NULL), 0);
}

static void interfaces_and_disks(void **state)
{
	static const char net[] = "Inter-|   Receive                                                |  Transmit\n"
				  " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
				  "    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"
				  "  eth0: 200 2 0 1 0 0 0 0 30 3 0 4 0 0 0 0\n"
				  "wlp1s0: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n";
	static const char disks[] = "   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9\n"
				    " 259       0 nvme0n1 1 0 100 0 1 0 200 0 0 30 0\n"
				    " 259       1 nvme0n1p1 1 0 60 0 1 0 200 0 0 30 0\n"
				    "   8       0 sda 1 0 10 0 1 0 20 0 0 3 0\n"
				    "   8       1 sda1 1 0 10 0 1 0 20 0 0 3 0\n"
				    "   8      16 sdaa 1 0 1 0 1 0 2 0 0 3 0\n"
				    " 253       0 dm-0 1 0 100 0 1 0 200 0 0 30 0\n"
				    "   9     127 md127 1 0 100 0 1 0 200 0 0 30 0\n";
	uint64_t value;

	(void)state;
	assert_int_equal(figure(net, (struct tfp_system_rule){.words = 1 << 1}, tfp_system_is_interface), 207);
	assert_int_equal(figure(net, (struct tfp_system_rule){.words = 1 << 9}, tfp_system_is_interface), 38);
	assert_int_equal(figure(net, (struct tfp_system_rule){.words = 1 << 4 | 1 << 12}, tfp_system_is_interface), 5);
	assert_int_equal(figure(disks, (struct tfp_system_rule){.words = 1 << 5, .scale = 512}, tfp_system_is_disk), 111 * 512);
	assert_int_equal(figure(disks, (struct tfp_system_rule){.words = 1 << 9}, tfp_system_is_disk), 222);
	assert_int_equal(figure("8:0 rbytes=1 wbytes=2 rios=3\n8:16 rbytes=10 wbytes=20\n",
				(struct tfp_system_rule){.key = "rbytes="}, NULL),
			 11);
	assert_int_equal(figure("8:0 Read 5\n8:0 Write 7\n8:0 Total 12\n8:16 Read 1\nTotal 13\n",
				(struct tfp_system_rule){.key = " Read "}, NULL),
			 6);
	/* A sum of which a part is missing is none. */
	const struct tfp_system_rule sum = {.words = 1 << 1, .scale = 1}, first = {.line = "lo:", .words = 1 << 1, .scale = 1};
	assert_int_equal(tfp_system_figure(net, sizeof net - 1, 1, &sum, tfp_system_is_interface, &value), -1);
	assert_int_equal(tfp_system_figure(net, sizeof net - 1, 1, &first, NULL, &value), 0);
}

static const char *const limits[][2] = {
	{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"},
	{"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
	{"/sys/fs/cgroup/pod/memory.max", "500\n"},
	{"/sys/fs/cgroup/pod/job/memory.max", "max\n"},
	{"/sys/fs/cgroup/tight/memory.max", "5000\n"},
	{"/sys/fs/cgroup/tight/job/memory.max", "400\n"},
};

static long limit_text(const char *path, char *to, size_t room)
{
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (!strcmp(path, limits[i][0]))
			return snprintf(to, room, "%s", limits[i][1]);
	return -2;
}

static const struct tfp_group *find(const char *membership, const char *mounts, enum tfp_group_kind kind)
{
	static struct tfp_group groups[TFP_GROUP_KINDS];
	static char room[TFP_GROUP_PATH + 64];

	memset(groups, 0, sizeof groups);
	tfp_group_find(membership, mounts, limit_text, room, groups);
	return &groups[kind];
}

static void is_at(const struct tfp_group *group, int version, const char *folder)
{
	assert_int_equal(group->version, version);
	if (version)
		assert_string_equal(group->folder, folder);
}

#define UNIFIED "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define OLD                                                                                                                      \
	"31 30 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"                                            \
	"32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"

static void groups_of_both_versions(void **state)
{
	(void)state;
	is_at(find("0::/pod/job\n", UNIFIED, TFP_GROUP_MEMORY), 2,
	      "/sys/fs/cgroup/pod"); /* the pod's limit is the one that kills */
	is_at(find("0::/tight/job\n", UNIFIED, TFP_GROUP_IO), 2, "/sys/fs/cgroup/tight/job");
	is_at(find("0::/free\n", UNIFIED, TFP_GROUP_MEMORY), 2, "/sys/fs/cgroup/free");
	is_at(find("0::/\n", UNIFIED, TFP_GROUP_MEMORY), 2, "/sys/fs/cgroup");
	is_at(find("0::/../../other\n", UNIFIED, TFP_GROUP_MEMORY), 2, "/sys/fs/cgroup"); /* outside of our namespace */
	is_at(find("4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/\n", OLD, TFP_GROUP_MEMORY), 1, "/sys/fs/cgroup/memory/a");
	is_at(find("4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/\n", OLD, TFP_GROUP_CPU), 1, "/sys/fs/cgroup/cpu,cpuacct/c");
	is_at(find("4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/\n", OLD, TFP_GROUP_IO), 0, NULL);
	is_at(find("4:memory:/a/b\n0::/x\n", OLD UNIFIED, TFP_GROUP_IO), 2, "/sys/fs/cgroup/x"); /* both mounted */
	/* A container without a namespace of groups: its own part is mounted. */
	is_at(find("4:memory:/docker/0123\n", "31 30 0:27 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		   TFP_GROUP_MEMORY),
	      1, "/sys/fs/cgroup/memory");
	is_at(find("4:memory:/docker/0123/x\n", "31 30 0:27 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		   TFP_GROUP_MEMORY),
	      1, "/sys/fs/cgroup/memory/x");
	is_at(find("4:memory:/docker/01234\n", "31 30 0:27 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		   TFP_GROUP_MEMORY),
	      1, "/sys/fs/cgroup/memory"); /* the neighbour's name begins alike */
	is_at(find("", UNIFIED, TFP_GROUP_MEMORY), 0, NULL);
	is_at(find("0::/pod\n", "", TFP_GROUP_MEMORY), 0, NULL);
	is_at(find("garbage", "more garbage\n- - -\n", TFP_GROUP_MEMORY), 0, NULL);
}

static void long_paths_are_none(void **state)
{
	char membership[2 * TFP_GROUP_PATH] = "0::/";

	(void)state;
	memset(membership + 4, 'x', TFP_GROUP_PATH);
	is_at(find(membership, UNIFIED, TFP_GROUP_MEMORY), 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_words),	cmocka_unit_test(no_limit_is_no_figure),
		cmocka_unit_test(interfaces_and_disks), cmocka_unit_test(groups_of_both_versions),
		cmocka_unit_test(long_paths_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
