// Long flows in ns-3, each with a round-trip time of its own, all from side 0 to side 1. See benches/peers/README.md.
//   ./long --rtts=20,30,40 --queue=droptail|red|ared|codel|pie [--rate=1e8] [--limit=240] [--stop=250] [--warm=50]
//     [--window=20000]
#include "dumbbell.h"

#include <memory>

constexpr double kStaggerS = 0.1;
constexpr uint32_t kWrite = 100 * kSegment;

static std::unique_ptr<Dumbbell> g_net;
static std::vector<uint64_t> g_received, g_before;

static void
Receive(int flow, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
        g_received[flow] += packet->GetSize();
}

// The third byte of a sender's address is its flow's number.
static void
Accept(Ptr<Socket> socket, const Address& from)
{
    const int flow = (InetSocketAddress::ConvertFrom(from).GetIpv4().Get() >> 8) & 0xff;
    socket->SetRecvCallback(MakeBoundCallback(&Receive, flow));
}

static void
Fill(Ptr<Socket> socket, uint32_t)
{
    while (socket->GetTxAvailable() >= kWrite && socket->Send(Create<Packet>(kWrite)) >= 0)
        continue;
}

static void
Start(int flow)
{
    Ptr<Socket> socket = Socket::CreateSocket(g_net->hosts[0][flow], TcpSocketFactory::GetTypeId());
    socket->SetSendCallback(MakeCallback(&Fill));
    socket->Connect(InetSocketAddress(g_net->addresses[1][flow], kPort));
}

static void
SnapFlows()
{
    g_before = g_received;
}

int
main(int argc, char* argv[])
{
    Settings settings;
    std::string rtts = "40";
    CommandLine line;
    settings.AddTo(line);
    line.AddValue("rtts", "one flow each, ms,ms", rtts);
    line.Parse(argc, argv);
    SetUpTcp(settings, 2 * std::max(kSegment * settings.window, kWrite));

    const std::vector<double> each = Numbers(rtts);
    g_net = std::make_unique<Dumbbell>(settings, each);
    g_received.resize(each.size());
    std::vector<Ptr<Socket>> listeners;
    for (size_t flow = 0; flow < each.size(); ++flow)
    {
        Ptr<Socket> listener = Socket::CreateSocket(g_net->hosts[1][flow], TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accept));
        listeners.push_back(listener);
        Simulator::Schedule(Seconds(kStaggerS * flow), &Start, int(flow));
    }
    Simulator::Schedule(Seconds(settings.warm), &SnapFlows);
    Simulator::Stop(Seconds(settings.stop));
    Simulator::Run();
    g_net->Report();
    printf("goodput_mbps");
    for (size_t flow = 0; flow < each.size(); ++flow)
        printf(" %.4f", (g_received[flow] - g_before[flow]) * 8 / (settings.stop - settings.warm) / 1e6);
    printf("\n");
    fflush(stdout);
    _Exit(0); // taking everything down costs time and tells nothing
}
