// One bulk TCP flow: sender - fast access link - router with a drop-tail queue - bottleneck - receiver.
//
// Settings as near to Linux as ns-3 allows: MSS 1448 with time stamps, SACK, window scaling, initial window 10, PRR,
// delayed ACK of 2 packets or 40 ms, least RTO the round trip plus 200 ms (with ns-3's own 200 ms each, a long path
// can live in timeouts for ever, which no Linux does). Nothing is traced.
#include "measure.h"

#include "ns3/applications-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char* argv[])
{
    std::string algorithm = "Cubic";
    double rateMbps = 10;
    double rttMs = 120;
    double loss = 0;
    uint32_t queuePackets = 100;
    double seconds = 100;
    uint32_t seed = 1;
    CommandLine command(__FILE__);
    command.AddValue("algorithm", "suffix of ns3::Tcp...", algorithm);
    command.AddValue("rate", "Mbit/s of the bottleneck", rateMbps);
    command.AddValue("rtt", "ms", rttMs);
    command.AddValue("loss", "probability per packet, data direction", loss);
    command.AddValue("queue", "packets", queuePackets);
    command.AddValue("seconds", "simulated", seconds);
    command.AddValue("seed", "", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);

    // Large enough to keep two products of bandwidth and delay under way, at least 4 MB.
    const auto buffer = std::max<uint32_t>(4 << 20, static_cast<uint32_t>(rateMbps * 1e3 / 8 * rttMs * 4));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::Tcp" + algorithm)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(rttMs + 200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));

    NodeContainer nodes(3);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rateMbps > 100 ? "10Gbps" : "1Gbps")));
    access.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rateMbps * 1e6))));
    bottleneck.SetChannelAttribute("Delay", TimeValue(MicroSeconds(rttMs * 500)));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(std::to_string(queuePackets) + "p"));
    NetDeviceContainer near = access.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer far = bottleneck.Install(nodes.Get(1), nodes.Get(2));

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    // No queue discipline is added above the devices: the addresses are given before the helper that would do so.
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(near);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    Ipv4InterfaceContainer farAddresses = addresses.Assign(far);
    TrafficControlHelper().Uninstall(near);
    TrafficControlHelper().Uninstall(far);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    if (loss > 0)
    {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(loss);
        far.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }

    const uint16_t port = 5001;
    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    auto sink = DynamicCast<PacketSink>(sinkHelper.Install(nodes.Get(2)).Get(0));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(farAddresses.GetAddress(1), port));
    source.SetAttribute("SendSize", UintegerValue(64 * 1024));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    RunAndPrint(seconds, [&] { return sink->GetTotalRx(); });
    return 0;
}
