// Queue disciplines of ns-3 alone: a transmitter of 10 Mbit/s behind its queue, packets at fixed times, no transport.
// The first argument names the case:
//
//   fair      FQ-CoDel whose CoDel never acts and whose limit does: prints every packet that leaves until 1.5 s, and when
//   fq-codel  FQ-CoDel with its defaults, which marks what knows ECN: prints every mark and drop
//   codel     CoDel with ECN: prints every mark and drop
//   red, pie  prints, per seed and phase of the traffic, what was offered and dropped and how long the rest waited
//
// crates/link/tests/ns3_queues.rs offers the same packets to this project's models.
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// Nanoseconds per byte at 10 Mbit/s.
constexpr int64_t BYTE = 800;

// From, to, interval, all in nanoseconds; bytes, connection, and whether it knows ECN.
struct Source
{
    int64_t from, to, interval;
    uint32_t bytes, flow;
    bool ecn;
};

const std::vector<Source> SHARED = {
    {0, 4'000'000'000, 1'000'000, 1500, 1, true},
    {137'000, 4'000'000'000, 2'000'000, 1500, 2, false},
    {421'000, 4'000'000'000, 20'000'000, 200, 3, false},
    {1'000'211'000, 3'000'000'000, 3'000'000, 700, 4, true},
};

const std::vector<Source> ALONE = {
    {137, 2'000'000'000, 1'000'000, 1500, 1, true},
    {3'000'000'137, 5'000'000'000, 900'000, 1500, 1, false},
};

// Five per cent too much, fourteen, nothing for a second, ten, and four too little. No packet comes when one is sent: ns-3
// takes it in before, and our models after.
const std::vector<Source> PHASES = {
    {137, 20'000'000'000, 760'013, 1000, 1, false},
    {20'000'000'137, 30'000'000'000, 700'009, 1000, 1, false},
    {31'000'000'137, 41'000'000'000, 727'001, 1000, 1, false},
    {41'000'000'137, 51'000'000'000, 830'003, 1000, 1, false},
};

class Item : public QueueDiscItem
{
  public:
    Item(Ptr<Packet> packet, const Source& source, size_t phase)
        : QueueDiscItem(packet, Address(), 0), source(source), phase(phase), at(Simulator::Now())
    {
    }
    void AddHeader() override {}
    bool Mark() override
    {
        marked = source.ecn;
        return source.ecn;
    }
    uint32_t Hash(uint32_t) const override { return source.flow; }

    Source source;
    size_t phase;
    Time at;
    bool marked = false;
};

struct Phase
{
    uint64_t offered = 0, dropped = 0;
    std::vector<double> waits;
};

Ptr<QueueDisc> queue;
bool busy = false;
std::string kind;
std::map<uint64_t, uint64_t> numbers;
std::vector<Phase> phases;

void Serve()
{
    Ptr<QueueDiscItem> next = queue->Dequeue();
    busy = next != nullptr;
    if (!busy)
    {
        return;
    }
    auto item = DynamicCast<Item>(next);
    phases[item->phase].waits.push_back((Simulator::Now() - item->at).GetSeconds() * 1e6);
    const char* what = item->marked ? "marked" : "sent";
    bool all = kind == "fair" && Simulator::Now() < MilliSeconds(1500);
    if (all || (item->marked && (kind == "fq-codel" || kind == "codel")))
    {
        std::cout << numbers[item->GetPacket()->GetUid()] << "," << what << "," << Simulator::Now().GetNanoSeconds() << "\n";
    }
    Simulator::Schedule(NanoSeconds(BYTE * item->source.bytes), Serve);
}

void Arrive(Source source, size_t phase, uint64_t number)
{
    Ptr<Packet> packet = Create<Packet>(source.bytes);
    numbers[packet->GetUid()] = number;
    phases[phase].offered++;
    queue->Enqueue(Create<Item>(packet, source, phase));
    if (!busy)
    {
        Serve();
    }
}

void Dropped(Ptr<const QueueDiscItem> dropped)
{
    auto item = DynamicCast<const Item>(dropped);
    phases[item->phase].dropped++;
    bool late = kind == "fair" && Simulator::Now() >= MilliSeconds(1500);
    if (kind != "red" && kind != "pie" && !late)
    {
        std::cout << numbers[item->GetPacket()->GetUid()] << ",dropped," << Simulator::Now().GetNanoSeconds() << "\n";
    }
}

Ptr<QueueDisc> Make(uint32_t seed)
{
    if (kind == "fair" || kind == "fq-codel")
    {
        auto fq = CreateObject<FqCoDelQueueDisc>();
        fq->SetQuantum(1514);
        if (kind == "fair")
        {
            fq->SetAttribute("MaxSize", QueueSizeValue(QueueSize("100p")));
            fq->SetAttribute("Target", StringValue("50s"));
        }
        return fq;
    }
    if (kind == "codel")
    {
        return CreateObjectWithAttributes<CoDelQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")), "MinBytes",
                                                          UintegerValue(1500), "UseEcn", BooleanValue(true));
    }
    if (kind == "red")
    {
        auto red = CreateObjectWithAttributes<RedQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")), "LinkBandwidth",
                                                            StringValue("10Mbps"));
        red->AssignStreams(seed);
        return red;
    }
    auto pie = CreateObjectWithAttributes<PieQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")));
    pie->AssignStreams(seed);
    return pie;
}

void Run(const std::vector<Source>& sources, uint32_t seed)
{
    phases.assign(sources.size(), Phase{});
    numbers.clear();
    busy = false;
    queue = Make(seed);
    queue->Initialize();
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    // Packets have numbers in the order of their times.
    std::vector<std::pair<int64_t, size_t>> arrivals;
    for (size_t phase = 0; phase < sources.size(); phase++)
    {
        for (int64_t at = sources[phase].from; at < sources[phase].to; at += sources[phase].interval)
        {
            arrivals.emplace_back(at, phase);
        }
    }
    std::sort(arrivals.begin(), arrivals.end());
    for (uint64_t number = 0; number < arrivals.size(); number++)
    {
        auto [at, phase] = arrivals[number];
        Simulator::Schedule(NanoSeconds(at), Arrive, sources[phase], phase, number);
    }
    Simulator::Stop(Seconds(60));
    Simulator::Run();
    queue->Dispose();
    queue = nullptr;
    Simulator::Destroy();
}

void PrintPhases(uint32_t seed)
{
    for (size_t n = 0; n < phases.size(); n++)
    {
        auto& waits = phases[n].waits;
        std::sort(waits.begin(), waits.end());
        double mean = std::accumulate(waits.begin(), waits.end(), 0.0) / waits.size();
        auto at = [&](double share) { return int64_t(waits[size_t(share * (waits.size() - 1))]); };
        std::cout << seed << "," << n << "," << phases[n].offered << "," << phases[n].dropped << "," << int64_t(mean) << ","
                  << at(0.5) << "," << at(0.95) << "\n";
    }
}

} // namespace

int main(int argc, char** argv)
{
    kind = argc > 1 ? argv[1] : "";
    if (kind == "red" || kind == "pie")
    {
        std::cout << "seed,phase,offered,dropped,mean_us,p50_us,p95_us\n";
        for (uint32_t seed = 1; seed <= 30; seed++)
        {
            Run(PHASES, seed);
            PrintPhases(seed);
        }
    }
    else if (kind == "fair" || kind == "fq-codel" || kind == "codel")
    {
        std::cout << "packet,what,at_ns\n";
        Run(kind == "codel" ? ALONE : SHARED, 1);
    }
    else
    {
        std::cerr << "usage: queues fair|fq-codel|codel|red|pie\n";
        return 2;
    }
    return 0;
}
