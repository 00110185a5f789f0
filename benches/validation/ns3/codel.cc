// CoDel of ns-3 alone: a transmitter of 10 Mbit/s behind its queue, packets of 1,500 bytes at fixed times, no transport
// and no randomness. Prints the number and the time of each packet that it drops, in nanoseconds.
//
// crates/link/tests/codel_reference.rs offers the same packets to this project's model.
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

constexpr int64_t SERVICE = 1'200'000;

// Phases of the traffic: from, to, interval, all in nanoseconds.
constexpr int64_t PHASES[][3] = {
    {137, 2'000'000'000, 1'000'000},
    {3'000'000'137, 5'000'000'000, 900'000},
    {5'000'000'137, 5'500'000'000, 2'000'000},
    {5'500'000'137, 8'000'000'000, 1'100'000},
    {10'000'000'137, 10'060'000'000, 100'000},
    {10'100'000'137, 12'000'000'000, 1'200'000},
};

class Item : public QueueDiscItem
{
  public:
    explicit Item(Ptr<Packet> packet) : QueueDiscItem(packet, Address(), 0) {}
    void AddHeader() override {}
    bool Mark() override { return false; }
};

Ptr<CoDelQueueDisc> queue;
bool busy = false;

void Serve()
{
    busy = queue->Dequeue() != nullptr;
    if (busy)
    {
        Simulator::Schedule(NanoSeconds(SERVICE), Serve);
    }
}

void Arrive()
{
    queue->Enqueue(Create<Item>(Create<Packet>(1500)));
    if (!busy)
    {
        Serve();
    }
}

void Dropped(Ptr<const QueueDiscItem> item)
{
    std::cout << item->GetPacket()->GetUid() << "," << Simulator::Now().GetNanoSeconds() << "\n";
}

} // namespace

int main()
{
    queue = CreateObjectWithAttributes<CoDelQueueDisc>("MaxSize", QueueSizeValue(QueueSize("1000p")), "MinBytes",
                                                       UintegerValue(1500));
    queue->Initialize();
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    for (const auto& [from, to, interval] : PHASES)
    {
        for (int64_t at = from; at < to; at += interval)
        {
            Simulator::Schedule(NanoSeconds(at), Arrive);
        }
    }
    std::cout << "packet,dropped_ns\n";
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
