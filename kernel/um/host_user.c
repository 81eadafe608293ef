// SPDX-License-Identifier: GPL-2.0
/* Makes a run independent of the host: random numbers of a seed, and a memory layout that is always the same. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>
#include <init.h>
#include "engine.h"

static unsigned long long state;

static int __init set_seed(char *line, int *add)
{
	*add = 0;
	state = strtoull(line, NULL, 0);
	return 0;
}

__uml_setup("seed=", set_seed,
"seed=<number>\n"
"    The seed of all random numbers that the kernel would otherwise take from the host.\n\n");

unsigned long long aqmlab_coin_seed;
unsigned long long aqmlab_coin_state;
int aqmlab_coin_is_set;

static int __init set_coin(char *line, int *add)
{
	*add = 0;
	aqmlab_coin_seed = aqmlab_coin_state = strtoull(line, NULL, 0);
	aqmlab_coin_is_set = 1;
	return 0;
}

__uml_setup("coin=", set_coin,
"coin=<number>\n"
"    The seed of the random numbers of queue disciplines, one step of splitmix64 each.\n\n");

static int __init set_cpu(char *line, int *add)
{
	cpu_set_t cpus;

	*add = 0;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(line), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return 0;
}

__uml_setup("cpu=", set_cpu,
"cpu=<number>\n"
"    The host's processor. The kernel and its processes take turns, which is faster on one processor than on several.\n\n");

/* Takes the place of the C library's function, which is the kernel's only source of random numbers from the host. */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *bytes = buffer;
	unsigned long long word = 0;
	size_t i;

	for (i = 0; i < length; i++) {
		if (i % sizeof(word) == 0)
			word = aqmlab_splitmix64(&state);
		bytes[i] = word >> (8 * (i % sizeof(word)));
	}
	return length;
}

/* A randomised heap moves the guest's memory, and with it the kernel's addresses and the order of its hash tables. A host that
 * refuses the personality still runs, but no two of its runs need be the same. */
static void __attribute__((constructor)) prepare_process(int argc, char **argv, char **environment)
{
	int old = personality(0xffffffff);

	/* Nothing of a run outlives the process that started it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (old >= 0 && !(old & ADDR_NO_RANDOMIZE) && personality(old | ADDR_NO_RANDOMIZE) >= 0)
		execve("/proc/self/exe", argv, environment);
}
