// SPDX-License-Identifier: GPL-2.0
/* /dev/aqmlab: each write is a message of the guest's program to the engine. */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "engine.h"

#define LONGEST (1 << 20)

static ssize_t control_write(struct file *file, const char __user *from, size_t length, loff_t *position)
{
	void *message;

	if (length > LONGEST)
		return -EMSGSIZE;
	message = memdup_user(from, length);
	if (IS_ERR(message))
		return PTR_ERR(message);
	local_bh_disable();
	aqmlab_engine_control(ktime_get_ns(), message, length);
	local_bh_enable();
	kfree(message);
	aqmlab_device_update();
	return length;
}

static const struct file_operations operations = { .owner = THIS_MODULE, .write = control_write };

static struct miscdevice device = { .minor = MISC_DYNAMIC_MINOR, .name = "aqmlab", .fops = &operations };

static int __init create(void)
{
	return aqmlab_engine_ports() ? misc_register(&device) : 0;
}
late_initcall(create);
