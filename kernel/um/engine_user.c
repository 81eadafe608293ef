// SPDX-License-Identifier: GPL-2.0
/* Loads the engine before the kernel starts, on the process's own stack. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <init.h>
#include <os.h>
#include "engine.h"

static struct {
	int (*start)(const char *arguments);
	int (*ports)(void);
	unsigned int (*header)(int port);
	unsigned long long (*send)(int port, unsigned long long now, unsigned int number, const void *packet, unsigned int length);
	void (*drop)(int port, unsigned long long now, unsigned int number);
	unsigned long long (*next)(void);
	unsigned int (*receive)(unsigned long long now, int *port, unsigned int *number, void *packet, unsigned int room);
	void (*control)(unsigned long long now, const void *message, unsigned int length);
	void (*finish)(void);
} engine;

static void *function(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		os_warn("aqmlab: the engine lacks %s\n", name);
		exit(1);
	}
	return found;
}

/* The kernel keeps no option that is read here: its command line, which it mixes into its random numbers, is the same in every run. */
static int __init set_engine(char *line, int *add)
{
	char *arguments = strchr(line, ',');
	void *library;

	*add = 0;
	if (arguments)
		*arguments++ = 0;
	library = dlopen(line, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		os_warn("aqmlab: %s\n", dlerror());
		exit(1);
	}
	engine.start = function(library, "aqmlab_start");
	engine.ports = function(library, "aqmlab_ports");
	engine.header = function(library, "aqmlab_header");
	engine.send = function(library, "aqmlab_send");
	engine.drop = function(library, "aqmlab_drop");
	engine.next = function(library, "aqmlab_next");
	engine.receive = function(library, "aqmlab_receive");
	engine.control = function(library, "aqmlab_control");
	engine.finish = function(library, "aqmlab_finish");
	if (engine.start(arguments ? arguments : ""))
		exit(1);
	return 0;
}

__uml_setup("aqmlab=", set_engine,
"aqmlab=<library>[,<arguments>]\n"
"    Network devices, aqmlab0, aqmlab1 and so on, joined by this library.\n\n");

int aqmlab_engine_ports(void)
{
	return engine.ports ? engine.ports() : 0;
}

unsigned int aqmlab_engine_header(int port)
{
	return engine.header(port);
}

unsigned long long aqmlab_engine_send(int port, unsigned long long now, unsigned int number, const void *packet, unsigned int length)
{
	return engine.send(port, now, number, packet, length);
}

void aqmlab_engine_drop(int port, unsigned long long now, unsigned int number)
{
	engine.drop(port, now, number);
}

unsigned long long aqmlab_engine_next(void)
{
	return engine.next();
}

unsigned int aqmlab_engine_receive(unsigned long long now, int *port, unsigned int *number, void *packet, unsigned int room)
{
	return engine.receive(now, port, number, packet, room);
}

void aqmlab_engine_control(unsigned long long now, const void *message, unsigned int length)
{
	engine.control(now, message, length);
}

/* Runs after the kernel has stopped, again on the process's own stack. */
static void finish(void)
{
	if (engine.finish)
		engine.finish();
}

__uml_exitcall(finish);
