// SPDX-License-Identifier: GPL-2.0
/* The cost of a reading of the clock. A program that waits by reading the clock again and again would wait for ever in a time that
 * computing does not advance. */
#include <linux/types.h>

u64 aqmlab_clock_cost(u64 now);

/* Readings at one instant that cost a nanosecond each, and the nanoseconds that each further one costs: ours. */
#define CHEAP 1000
#define DEAR 10000

u64 aqmlab_clock_cost(u64 now)
{
	static u64 expected;
	static unsigned int readings;
	u64 cost;

	/* Time has passed in another way: the program has waited. */
	if (now != expected)
		readings = 0;
	cost = ++readings > CHEAP ? DEAR : 1;
	expected = now + cost;
	return cost;
}
