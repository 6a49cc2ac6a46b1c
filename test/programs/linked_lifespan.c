/* SPDX-License-Identifier: Apache-2.0 */
/* Makes no call of its own: all of them are made by liblifespan.so before main begins and after it returned. */
extern void *lifespan_kept[100];

int main(void)
{
	return !lifespan_kept[99];
}
