// SPDX-License-Identifier: GPL-2.0
/* Network devices for IP packets. A packet that aqmlab0 or aqmlab1 sends goes to the engine; a packet that the engine delivers
 * arrives at its device at the engine's nanosecond. Each further device is a queue of the engine's network: a packet that the engine
 * delivers to it is sent by it, as soon as its queue discipline lets it and the engine's line is free. */
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include "engine.h"

#define SIDES 2
#define LONGEST 65535

struct port {
	struct net_device *device;
	int number;
	/* Bytes before the IP header that the queue discipline counts. */
	unsigned int header;
	/* Fires when the port's line is free again. */
	struct hrtimer free;
};

static struct port **ports;

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

/* A queue discipline has dropped the packet: the device takes this function away from those that it sends. */
static void dropped(struct sk_buff *skb)
{
	const struct port *port = skb_shinfo(skb)->destructor_arg;

	aqmlab_engine_drop(port->number, ktime_get_ns(), skb_shinfo(skb)->tskey);
}

static void deliver(struct port *port, unsigned int packet, unsigned int length)
{
	struct net_device *device = port->device;
	struct sk_buff *skb = netdev_alloc_skb(device, length);

	if (!skb) {
		DEV_STATS_INC(device, rx_dropped);
		return;
	}
	skb_put_data(skb, buffer, length);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, port->header);
	skb->protocol = (buffer[port->header] >> 4) == 6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	dev_sw_netstats_rx_add(device, length);
	if (port->number < SIDES) {
		netif_rx(skb);
		return;
	}
	/* No discipline uses these two, and copies of the packet keep them. Some use the place of skb->dev. */
	skb_shinfo(skb)->tskey = packet;
	skb_shinfo(skb)->destructor_arg = port;
	skb->destructor = dropped;
	dev_queue_xmit(skb);
}

/* Handles all events until now. A queue that sends in turn has more events: the outer call handles them. */
static void update(u64 now)
{
	static bool is_running, is_repeated;
	unsigned int length, packet;
	u64 next;
	int port;

	if (is_running) {
		is_repeated = true;
		return;
	}
	is_running = true;
	do {
		is_repeated = false;
		while ((length = aqmlab_engine_receive(now, &port, &packet, buffer, sizeof(buffer))))
			deliver(ports[port], packet, length);
	} while (is_repeated);
	is_running = false;
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
	struct port *port = netdev_priv(device);
	u64 now = ktime_get_ns(), busy;

	if (skb_linearize(skb)) {
		DEV_STATS_INC(device, tx_dropped);
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	dev_sw_netstats_tx_add(device, 1, skb->len);
	if (port->number >= SIDES && skb->destructor != dropped) {
		/* The kernel's own packet, which belongs to no host. */
		DEV_STATS_INC(device, tx_dropped);
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	busy = aqmlab_engine_send(port->number, now, skb_shinfo(skb)->tskey, skb->data, skb->len);
	if (skb->destructor == dropped)
		skb->destructor = NULL;
	consume_skb(skb);
	if (busy > now) {
		/* A line: the queue discipline keeps the next packet until this one has left. */
		netif_stop_queue(device);
		set(&port->free, busy);
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

static int __init create_port(int number)
{
	struct net_device *device = alloc_netdev(sizeof(struct port), "aqmlab%d", NET_NAME_ENUM, set_up);
	struct port *port;

	if (!device)
		return -ENOMEM;
	port = netdev_priv(device);
	*port = (struct port){ .device = device, .number = number, .header = aqmlab_engine_header(number) };
	device->hard_header_len = port->header;
	prepare(&port->free, on_free);
	ports[number] = port;
	return register_netdev(device);
}

static int __init create(void)
{
	int i, error = 0, count = aqmlab_engine_ports();

	if (!count)
		return 0;
	prepare(&next_event, on_event);
	ports = kcalloc(count, sizeof(*ports), GFP_KERNEL);
	if (!ports)
		return -ENOMEM;
	for (i = 0; i < count && !error; i++)
		error = create_port(i);
	return error;
}
late_initcall(create);
