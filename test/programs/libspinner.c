/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is opened and closed again and again (hosted.c). Rule: all its time goes into its one function. */
double spin(double of);

double spin(double of)
{
	for (int i = 0; i < 100000; i++)
		of = of * 0.9999 + 1.0 / (of + i);
	return of;
}
