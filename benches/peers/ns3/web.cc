// The web scenario in ns-3: one connection for each line of an arrival trace. See benches/peers/README.md.
//   ./web --trace=FILE --queue=droptail|red|ared|codel|pie [--out=FILE] [--stop=15] [--warm=4] [--marks=4,15]
#include "dumbbell.h"

#include <cstring>
#include <fstream>
#include <memory>

constexpr uint32_t kPairs = 32;
constexpr double kRttMinMs = 10, kRttMaxMs = 150;
constexpr uint32_t kRequest = 300;
constexpr uint32_t kSendBuffer = 200'000'000; // a response is written at once

static std::unique_ptr<Dumbbell> g_net;
static FILE* g_out;

// A line of the trace: t dir pair size.
struct Trace
{
    std::ifstream file;
    double at;
    int direction, pair;
    uint32_t bytes;

    bool Next() { return bool(file >> at >> direction >> pair >> bytes); }
};
static Trace g_trace;

struct Transfer
{
    double begun;
    uint32_t bytes, left;
};

static void
ClientReceives(Transfer* transfer, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
        transfer->left -= std::min(transfer->left, packet->GetSize());
    if (transfer->left)
        return;
    if (g_out)
        fprintf(g_out, "%.6f %.6f %u\n", transfer->begun, Simulator::Now().GetSeconds() - transfer->begun,
                transfer->bytes);
    socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
    socket->Close();
    delete transfer;
}

// The request says how long the response is to be.
static void
ServerReceives(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        uint32_t bytes;
        if (packet->CopyData(reinterpret_cast<uint8_t*>(&bytes), sizeof bytes) < sizeof bytes)
            continue;
        socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        socket->Send(Create<Packet>(bytes));
        socket->Close();
        return;
    }
}

static void
Accept(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&ServerReceives));
}

static void
Arrive()
{
    const int from = g_trace.direction, pair = g_trace.pair;
    auto* transfer = new Transfer{Simulator::Now().GetSeconds(), g_trace.bytes, g_trace.bytes};
    Ptr<Socket> socket = Socket::CreateSocket(g_net->hosts[from][pair], TcpSocketFactory::GetTypeId());
    socket->SetRecvCallback(MakeBoundCallback(&ClientReceives, transfer));
    socket->Connect(InetSocketAddress(g_net->addresses[1 - from][pair], kPort));
    uint8_t request[kRequest] = {};
    memcpy(request, &g_trace.bytes, sizeof g_trace.bytes);
    socket->Send(Create<Packet>(request, kRequest));
    if (g_trace.Next())
        Simulator::Schedule(Seconds(g_trace.at) - Simulator::Now(), &Arrive);
}

int
main(int argc, char* argv[])
{
    Settings settings;
    std::string trace, out;
    CommandLine line;
    settings.AddTo(line);
    line.AddValue("trace", "arrivals, a line `t dir pair size` each", trace);
    line.AddValue("out", "response times, a line `begun seconds bytes` each", out);
    line.Parse(argc, argv);
    SetUpTcp(settings, kSendBuffer);

    std::vector<double> rtts;
    for (uint32_t i = 0; i < kPairs; ++i)
        rtts.push_back(kRttMinMs + (kRttMaxMs - kRttMinMs) * (i + 0.5) / kPairs);
    g_net = std::make_unique<Dumbbell>(settings, rtts);
    std::vector<Ptr<Socket>> listeners;
    for (auto& side : g_net->hosts)
        for (auto& host : side)
        {
            Ptr<Socket> listener = Socket::CreateSocket(host, TcpSocketFactory::GetTypeId());
            listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
            listener->Listen();
            listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accept));
            listeners.push_back(listener);
        }
    g_trace.file.open(trace);
    if (!g_trace.Next())
    {
        fprintf(stderr, "ns-3 driver: no trace in %s\n", trace.c_str());
        return 2;
    }
    if (!out.empty())
    {
        g_out = fopen(out.c_str(), "w");
        setvbuf(g_out, nullptr, _IOLBF, BUFSIZ); // what is complete is there after a crash too
    }
    Simulator::Schedule(Seconds(g_trace.at), &Arrive);
    Simulator::Stop(Seconds(settings.stop));
    Simulator::Run();
    g_net->Report();
    if (g_out)
        fclose(g_out);
    fflush(stdout);
    _Exit(0); // taking everything down costs time and tells nothing
}
