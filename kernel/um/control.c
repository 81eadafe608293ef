// SPDX-License-Identifier: GPL-2.0
/* /dev/aqmlab: each write is a message of the guest's program to the engine, and a control discards what a connection receives. */
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

struct discard_request {
	__u64 bytes;
	__u32 file;
	__u32 unused;
};

#define DISCARD _IOWR('q', 1, struct discard_request)

static long control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct discard_request request;
	int error;

	if (command != DISCARD)
		return -ENOTTY;
	if (copy_from_user(&request, (void __user *)argument, sizeof(request)))
		return -EFAULT;
	error = aqmlab_discard(request.file, &request.bytes);
	if (!error && copy_to_user((void __user *)argument, &request, sizeof(request)))
		return -EFAULT;
	return error;
}

static const struct file_operations operations = { .owner = THIS_MODULE, .write = control_write, .unlocked_ioctl = control_ioctl };

static struct miscdevice device = { .minor = MISC_DYNAMIC_MINOR, .name = "aqmlab", .fops = &operations };

static int __init create(void)
{
	return aqmlab_engine_ports() ? misc_register(&device) : 0;
}
late_initcall(create);
