// SPDX-License-Identifier: GPL-2.0
/* The random numbers of the queue disciplines: the kernel's own, or those of a coin that a simulation can toss as well. */
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>
#include "engine.h"

u32 aqmlab_random_u32(void);
u16 aqmlab_random_u16(void);
u32 aqmlab_random_below(u32 ceiling);
void aqmlab_random_bytes(void *bytes, size_t length);

u32 aqmlab_random_u32(void)
{
	return aqmlab_coin_is_set ? aqmlab_splitmix64(&aqmlab_coin_state) >> 32 : get_random_u32();
}

u16 aqmlab_random_u16(void)
{
	return aqmlab_coin_is_set ? aqmlab_splitmix64(&aqmlab_coin_state) >> 48 : get_random_u16();
}

u32 aqmlab_random_below(u32 ceiling)
{
	return ((u64)ceiling * aqmlab_random_u32()) >> 32;
}

void aqmlab_random_bytes(void *bytes, size_t length)
{
	size_t done, part;
	u64 word;

	if (!aqmlab_coin_is_set) {
		get_random_bytes(bytes, length);
		return;
	}
	for (done = 0; done < length; done += part) {
		word = aqmlab_splitmix64(&aqmlab_coin_state);
		part = min(length - done, sizeof(word));
		memcpy(bytes + done, &word, part);
	}
}
