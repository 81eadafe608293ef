/* SPDX-License-Identifier: GPL-2.0 */
/* The engine: a shared library in the kernel's own process, which joins the two network devices. Times are nanoseconds of virtual time. */
#ifndef AQMLAB_ENGINE_H
#define AQMLAB_ENGINE_H

/* No event. */
#define AQMLAB_NEVER (~0ULL)

/* Returns the number of network devices: those of the two sides, then the queues of the engine's network, or 0 without an engine. */
int aqmlab_engine_ports(void);

/* Returns the bytes before the IP header of a port's packets, which its queue discipline counts. */
unsigned int aqmlab_engine_header(int port);

/* Takes a packet that port sends now; number is that of aqmlab_engine_receive, if the port is a queue. Returns the time until which
 * the port's line is busy, or 0 if the port has no line. */
unsigned long long aqmlab_engine_send(int port, unsigned long long now, unsigned int number, const void *packet, unsigned int length);

/* A queue's discipline has dropped a packet. */
void aqmlab_engine_drop(int port, unsigned long long now, unsigned int number);

/* Returns the time of the engine's next event. */
unsigned long long aqmlab_engine_next(void);

/* Writes the next packet that has arrived by now, its port and its number. Returns its length, or 0 if there is none. */
unsigned int aqmlab_engine_receive(unsigned long long now, int *port, unsigned int *number, void *packet, unsigned int room);

/* Passes a message of a program to the engine. */
void aqmlab_engine_control(unsigned long long now, const void *message, unsigned int length);

/* Handles all events until now. The device calls it after a message, whose events may have changed the next one. */
void aqmlab_device_update(void);

/* Reads and forgets what a connection has and what comes later, up to this many bytes. Sets bytes to the number of those that were read
 * since the last call. Returns 0 or an error. */
int aqmlab_discard(int file, unsigned long long *bytes);

/* The coin of the queue disciplines: the seed of the command line, the state, and whether there is one. */
extern unsigned long long aqmlab_coin_seed;
extern unsigned long long aqmlab_coin_state;
extern int aqmlab_coin_is_set;

/* One step of the generator splitmix64. */
static inline unsigned long long aqmlab_splitmix64(unsigned long long *state)
{
	unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif
