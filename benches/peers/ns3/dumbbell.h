// What both ns-3 drivers share: settings, TCP, queue disciplines, the topology and what is counted at the bottleneck.
// benches/peers/README.md says which scenario this is and where each value is from.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

constexpr uint32_t kSegment = 1460;
constexpr uint16_t kPort = 80;

struct Settings
{
    std::string queue = "droptail", marks;
    double rate = 100e6, delay_ms = 1, stop = 60, warm = 20;
    uint32_t limit = 240, seed = 1, window = 11, segments_per_ack = 2;

    void AddTo(CommandLine& line)
    {
        line.AddValue("queue", "droptail, red, ared, codel or pie", queue);
        line.AddValue("rate", "of the bottleneck, bit/s", rate);
        line.AddValue("delay_ms", "of the bottleneck, one way", delay_ms);
        line.AddValue("limit", "packets", limit);
        line.AddValue("stop", "end of the window, s", stop);
        line.AddValue("warm", "start of the window, s", warm);
        line.AddValue("marks", "when to tell the CPU time, s,s", marks);
        line.AddValue("seed", "of the random streams", seed);
        line.AddValue("window", "receive window, segments", window);
        line.AddValue("segments_per_ack", "segments for each acknowledgement", segments_per_ack);
    }
};

inline std::vector<double>
Numbers(const std::string& text)
{
    std::vector<double> numbers;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');)
        numbers.push_back(std::stod(word));
    return numbers;
}

// NewReno without SACK and time stamps: segments of 1460 bytes in packets of 1500.
inline void
SetUpTcp(const Settings& s, uint32_t sendBuffer)
{
    RngSeedManager::SetSeed(s.seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(s.segments_per_ack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSegment * s.window));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(kSegment * s.window > 65535));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.1));
}

// CoDel and PIE are at ns-3's defaults.
inline TrafficControlHelper
QueueHelper(const Settings& s)
{
    TrafficControlHelper helper;
    const std::string limit = std::to_string(s.limit) + "p";
    const DataRateValue rate(DataRate(uint64_t(s.rate)));
    if (s.queue == "droptail")
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(limit));
    else if (s.queue == "red" || s.queue == "ared")
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(limit), "MinTh", DoubleValue(60), "MaxTh",
                                DoubleValue(180), "QW", DoubleValue(1.0 / 16384), "LInterm", DoubleValue(10), "Gentle",
                                BooleanValue(true), "AdaptMaxP", BooleanValue(s.queue == "ared"), "Bottom",
                                DoubleValue(0.01), "LinkBandwidth", rate, "LinkDelay",
                                TimeValue(Seconds(s.delay_ms / 1e3)), "MeanPktSize", UintegerValue(500));
    else if (s.queue == "codel")
        helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", StringValue(limit));
    else if (s.queue == "pie")
        helper.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", StringValue(limit));
    else
    {
        fprintf(stderr, "ns-3 driver: no queue %s\n", s.queue.c_str());
        exit(2);
    }
    return helper;
}

// What one direction of the bottleneck has seen.
struct Counters
{
    uint64_t arrived = 0, dropped = 0, sent_bytes = 0;
    double packet_seconds = 0, last = 0;
    uint32_t waiting = 0;

    void Length(uint32_t, uint32_t now_waiting)
    {
        const double now = Simulator::Now().GetSeconds();
        packet_seconds += waiting * (now - last);
        last = now;
        waiting = now_waiting;
    }
    void Enqueued(Ptr<const QueueDiscItem>) { ++arrived; }
    void DroppedBefore(Ptr<const QueueDiscItem>, const char*) { ++arrived, ++dropped; }
    void DroppedAfter(Ptr<const QueueDiscItem>, const char*) { ++dropped; }
    void Sent(Ptr<const Packet> packet) { sent_bytes += packet->GetSize() - 2; } // less the PPP header
};

// Two routers, and for each round-trip time in milliseconds a host at either side. Their links of 1 Gbit/s never drop;
// half of what the bottleneck leaves of the way out is before it, half behind it.
struct Dumbbell
{
    const Settings s;
    NodeContainer routers{2};
    std::vector<Ptr<Node>> hosts[2];
    std::vector<Ipv4Address> addresses[2];
    Counters counters[2], before[2];

    Dumbbell(const Settings& settings, const std::vector<double>& rtts_ms) : s(settings)
    {
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(routers);
        Ipv4AddressHelper ip("10.255.0.0", "255.255.255.0");
        BuildBottleneck(ip);
        for (int side : {0, 1})
            for (size_t i = 0; i < rtts_ms.size(); ++i)
                AddHost(side, i, (rtts_ms[i] / 2 - s.delay_ms) / 2, stack, ip);
        Ipv4StaticRoutingHelper routing;
        for (int side : {0, 1})
            routing.GetStaticRouting(routers.Get(side)->GetObject<Ipv4>())
                ->AddNetworkRouteTo(Ipv4Address(side ? "10.0.0.0" : "10.1.0.0"), Ipv4Mask("255.255.0.0"), 1);
        for (double at : Numbers(s.marks))
            Simulator::Schedule(Seconds(at), &Dumbbell::Mark, this);
        Simulator::Schedule(Seconds(s.warm), &Dumbbell::Snap, this);
    }

    void BuildBottleneck(Ipv4AddressHelper& ip)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(s.rate))));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(s.delay_ms / 1e3)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
        NetDeviceContainer devices = link.Install(routers);
        QueueDiscContainer queues = QueueHelper(s).Install(devices);
        ip.Assign(devices);
        for (int d : {0, 1})
        {
            Counters* c = &counters[d];
            queues.Get(d)->TraceConnectWithoutContext("Enqueue", MakeCallback(&Counters::Enqueued, c));
            queues.Get(d)->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Counters::DroppedBefore, c));
            queues.Get(d)->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Counters::DroppedAfter, c));
            queues.Get(d)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Counters::Length, c));
            devices.Get(d)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Counters::Sent, c));
        }
    }

    void AddHost(int side, size_t i, double access_ms, const InternetStackHelper& stack, Ipv4AddressHelper& ip)
    {
        Ptr<Node> host = CreateObject<Node>();
        stack.Install(host);
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        access.SetChannelAttribute("Delay", TimeValue(Seconds(access_ms / 1e3)));
        access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        NetDeviceContainer devices = access.Install(host, routers.Get(side));
        const std::string net = "10." + std::to_string(side) + "." + std::to_string(i) + ".0";
        ip.SetBase(net.c_str(), "255.255.255.0");
        Ipv4InterfaceContainer interfaces = ip.Assign(devices);
        TrafficControlHelper().Uninstall(devices); // no FqCoDel of its own accord
        hosts[side].push_back(host);
        addresses[side].push_back(interfaces.GetAddress(0));
        Ipv4StaticRoutingHelper routing;
        routing.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(1), 1);
    }

    void Snap()
    {
        for (int d : {0, 1})
        {
            counters[d].Length(0, counters[d].waiting);
            before[d] = counters[d];
        }
    }

    // User CPU time of this process, packets that came to the bottleneck so far, peak memory; and the window so far, as
    // a run that crashes tells nothing more.
    void Mark()
    {
        rusage used;
        getrusage(RUSAGE_SELF, &used);
        printf("mark %g user_s %.2f packets %lu peak_kib %ld\n", Simulator::Now().GetSeconds(),
               used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6, counters[0].arrived + counters[1].arrived,
               PeakKib());
        if (Simulator::Now() > Seconds(s.warm))
            Report();
        fflush(stdout);
    }

    // Not getrusage: what it calls a process's peak began with its parent's.
    static long PeakKib()
    {
        long kib = 0;
        char line[256];
        FILE* file = fopen("/proc/self/status", "r");
        while (file && fgets(line, sizeof line, file))
            sscanf(line, "VmHWM: %ld", &kib);
        if (file)
            fclose(file);
        return kib;
    }

    void Report()
    {
        const double seconds = Simulator::Now().GetSeconds() - s.warm;
        for (int d : {0, 1})
        {
            Counters &after = counters[d], &start = before[d];
            after.Length(0, after.waiting);
            printf("direction %d arrived %lu dropped %lu mbps %.4f queue_mean %.4f\n", d, after.arrived - start.arrived,
                   after.dropped - start.dropped, (after.sent_bytes - start.sent_bytes) * 8 / seconds / 1e6,
                   (after.packet_seconds - start.packet_seconds) / seconds);
        }
    }
};
