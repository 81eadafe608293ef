// SPDX-License-Identifier: GPL-2.0
/* The kernel reads and forgets what arrives on a connection, without waking its program, until as many bytes have come as it asked for.
 * A thread of the kernel reads when the program would, after the packets of this nanosecond, and as it would, so that windows and
 * acknowledgements are the same. The wake-up of a program costs as much as a dozen packets, because each of its system calls passes
 * through ptrace. */
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/tcp.h>
#include "engine.h"

/* Bytes of one read, as many as the program's buffer has. */
#define MOST (1 << 18)

struct discard {
	struct sock *sk;
	struct work_struct work;
	/* One reader at a time changes the counts. */
	struct mutex reading;
	/* Bytes still to be read, and those that were read since the program last asked. */
	u64 left, count;
	void (*data_ready)(struct sock *sk);
	void (*destruct)(struct sock *sk);
};

/* Reads what the connection has. The caller holds the mutex. */
static void read_all(struct discard *discard)
{
	while (discard->left) {
		/* None once the program has closed it. Nothing interrupts this thread between here and the lock of the connection, which
		 * we keep: the kernel has one processor and no preemption. */
		struct socket *socket = discard->sk->sk_socket;
		struct msghdr message = {};
		size_t most = min_t(u64, discard->left, MOST);
		int bytes;

		if (!socket)
			return;
		bytes = kernel_recvmsg(socket, &message, NULL, 0, most, MSG_TRUNC | MSG_DONTWAIT);
		if (bytes <= 0)
			return;
		discard->left -= bytes;
		discard->count += bytes;
		if (bytes < most)
			return;
	}
}

static void read_in_thread(struct work_struct *work)
{
	struct discard *discard = container_of(work, struct discard, work);
	struct sock *sk = discard->sk;

	mutex_lock(&discard->reading);
	read_all(discard);
	mutex_unlock(&discard->reading);
	if (!discard->left)
		discard->data_ready(sk);
	sock_put(sk);
}

static void data_ready(struct sock *sk)
{
	struct discard *discard = sk->sk_user_data;

	if (!discard->left) {
		discard->data_ready(sk);
		return;
	}
	sock_hold(sk);
	if (!queue_work(system_highpri_wq, &discard->work))
		sock_put(sk);
}

static void destruct(struct sock *sk)
{
	struct discard *discard = sk->sk_user_data;

	discard->destruct(sk);
	kfree(discard);
}

static struct discard *attach(struct sock *sk)
{
	struct discard *discard = kzalloc(sizeof(*discard), GFP_KERNEL);

	if (!discard)
		return NULL;
	discard->sk = sk;
	INIT_WORK(&discard->work, read_in_thread);
	mutex_init(&discard->reading);
	lock_sock(sk);
	discard->data_ready = sk->sk_data_ready;
	discard->destruct = sk->sk_destruct;
	sk->sk_user_data = discard;
	sk->sk_data_ready = data_ready;
	sk->sk_destruct = destruct;
	release_sock(sk);
	return discard;
}

/* See aqmlab_discard(). */
static int discard_socket(struct socket *socket, u64 *bytes)
{
	struct sock *sk = socket->sk;
	struct discard *discard;

	if (!sk_is_tcp(sk) || sk->sk_state == TCP_LISTEN)
		return -EINVAL;
	discard = sk->sk_data_ready == data_ready ? sk->sk_user_data : attach(sk);
	if (!discard)
		return -ENOMEM;
	mutex_lock(&discard->reading);
	discard->left = *bytes - min(*bytes, discard->count);
	read_all(discard);
	*bytes = discard->count;
	discard->count = 0;
	mutex_unlock(&discard->reading);
	return 0;
}

int aqmlab_discard(int file, unsigned long long *bytes)
{
	int error;
	struct socket *socket = sockfd_lookup(file, &error);

	if (!socket)
		return error;
	error = discard_socket(socket, bytes);
	sockfd_put(socket);
	return error;
}
