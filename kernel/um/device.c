// SPDX-License-Identifier: GPL-2.0
/* Two network devices for IP packets, aqmlab0 and aqmlab1. A packet that one sends goes to the engine; a packet that the engine
 * delivers arrives at its device at the engine's nanosecond. */
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include "engine.h"

#define PORTS 2
#define LONGEST 65535

static struct port {
	struct net_device *device;
	/* Fires when the port's line is free again. */
	struct hrtimer free;
} ports[PORTS];

/* Fires at the engine's next event. */
static struct hrtimer next_event;

static u8 buffer[LONGEST];

static void prepare(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = function;
#endif
}

static void set(struct hrtimer *timer, u64 at)
{
	hrtimer_start(timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

static void deliver(struct net_device *device, const void *packet, unsigned int length)
{
	struct sk_buff *skb = netdev_alloc_skb(device, length);

	if (!skb) {
		DEV_STATS_INC(device, rx_dropped);
		return;
	}
	skb_put_data(skb, packet, length);
	skb->protocol = (*(const u8 *)packet >> 4) == 6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	skb_reset_mac_header(skb);
	dev_sw_netstats_rx_add(device, length);
	netif_rx(skb);
}

static void update(u64 now)
{
	unsigned int length;
	u64 next;
	int port;

	while ((length = aqmlab_engine_receive(now, &port, buffer, sizeof(buffer))))
		deliver(ports[port].device, buffer, length);
	next = aqmlab_engine_next();
	if (next != AQMLAB_NEVER)
		set(&next_event, next);
}

void aqmlab_device_update(void)
{
	local_bh_disable();
	update(ktime_get_ns());
	local_bh_enable();
}

static enum hrtimer_restart on_event(struct hrtimer *timer)
{
	update(ktime_get_ns());
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart on_free(struct hrtimer *timer)
{
	netif_wake_queue(container_of(timer, struct port, free)->device);
	return HRTIMER_NORESTART;
}

static netdev_tx_t send(struct sk_buff *skb, struct net_device *device)
{
	int port = *(int *)netdev_priv(device);
	u64 now = ktime_get_ns(), busy;

	if (skb_linearize(skb)) {
		DEV_STATS_INC(device, tx_dropped);
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	dev_sw_netstats_tx_add(device, 1, skb->len);
	busy = aqmlab_engine_send(port, now, skb->data, skb->len);
	consume_skb(skb);
	if (busy > now) {
		/* A line: the queue discipline keeps the next packet until this one has left. */
		netif_stop_queue(device);
		set(&ports[port].free, busy);
	}
	update(now);
	return NETDEV_TX_OK;
}

static int open(struct net_device *device)
{
	netif_start_queue(device);
	aqmlab_device_update();
	return 0;
}

static const struct net_device_ops operations = { .ndo_open = open, .ndo_start_xmit = send };

static void set_up(struct net_device *device)
{
	device->netdev_ops = &operations;
	device->type = ARPHRD_NONE;
	device->flags = IFF_POINTOPOINT | IFF_NOARP;
	device->mtu = ETH_DATA_LEN;
	device->min_mtu = ETH_MIN_MTU;
	device->max_mtu = LONGEST;
	device->tx_queue_len = 1000;
	device->priv_flags |= IFF_NO_QUEUE;
	device->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
}

static int __init create(void)
{
	int i, error;

	if (!aqmlab_engine_exists())
		return 0;
	prepare(&next_event, on_event);
	for (i = 0; i < PORTS; i++) {
		prepare(&ports[i].free, on_free);
		ports[i].device = alloc_netdev(sizeof(int), "aqmlab%d", NET_NAME_ENUM, set_up);
		if (!ports[i].device)
			return -ENOMEM;
		*(int *)netdev_priv(ports[i].device) = i;
		error = register_netdev(ports[i].device);
		if (error)
			return error;
	}
	return 0;
}
late_initcall(create);
