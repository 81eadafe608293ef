// SPDX-License-Identifier: GPL-2.0
/* The random numbers of the queue disciplines: the kernel's own, or those of a coin that a simulation can toss as well. */
#include <linux/kernel.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/string.h>
#include "engine.h"

u32 aqmlab_random_u32(void);
u16 aqmlab_random_u16(void);
u32 aqmlab_random_below(u32 ceiling);
u32 aqmlab_prandom_u32_state(struct rnd_state *state);
void aqmlab_random_bytes(void *bytes, size_t length);
void aqmlab_flow_secret(void *bytes, size_t length);

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

/* The generator of netem, which has a state of its own. */
u32 aqmlab_prandom_u32_state(struct rnd_state *state)
{
	return aqmlab_coin_is_set ? aqmlab_random_u32() : prandom_u32_state(state);
}

static void fill(void *bytes, size_t length, unsigned long long *state)
{
	size_t done, part;
	u64 word;

	for (done = 0; done < length; done += part) {
		word = aqmlab_splitmix64(state);
		part = min(length - done, sizeof(word));
		memcpy(bytes + done, &word, part);
	}
}

void aqmlab_random_bytes(void *bytes, size_t length)
{
	if (aqmlab_coin_is_set)
		fill(bytes, length, &aqmlab_coin_state);
	else
		get_random_bytes(bytes, length);
}

/* The secret of the hash of flows, which the kernel draws once, at a time that no simulation knows: it is not the coin that is
 * tossed, but another one of the same seed. */
void aqmlab_flow_secret(void *bytes, size_t length)
{
	unsigned long long state = ~aqmlab_coin_seed;

	if (aqmlab_coin_is_set)
		fill(bytes, length, &state);
	else
		get_random_bytes(bytes, length);
}
