// Saturated 802.11b: stations that always have UDP to send to their access point, at 11 Mbit/s with long preambles.
//
// A station is kept saturated by a source that offers a little more than its share; offering more would only make
// ns-3 create and drop packets. The path loss is fixed, so that every frame arrives unless it collides. The default
// interference and error models stay, no traces.
#include "measure.h"

#include "ns3/applications-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

int main(int argc, char* argv[])
{
    uint32_t stations = 1;
    uint32_t payload = 1472;
    double offeredMbps = 7.5;
    double seconds = 20;
    uint32_t seed = 1;
    CommandLine command(__FILE__);
    command.AddValue("stations", "that send", stations);
    command.AddValue("payload", "bytes of UDP payload", payload);
    command.AddValue("offered", "Mbit/s of payload, all stations together", offeredMbps);
    command.AddValue("seconds", "simulated", seconds);
    command.AddValue("seed", "", seed);
    command.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);

    NodeContainer accessPoint(1);
    NodeContainer senders(stations);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-40));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("DsssRate11Mbps"),
                                 "ControlMode", StringValue("DsssRate2Mbps"));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("100p"));
    WifiMacHelper mac;
    const Ssid ssid("validation");
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    NetDeviceContainer accessPointDevice = wifi.Install(phy, mac, accessPoint);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "ActiveProbing", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, senders);

    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(accessPoint);
    mobility.Install(senders);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(accessPoint);
    stack.Install(senders);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer target = addresses.Assign(accessPointDevice);
    addresses.Assign(devices);

    const uint16_t port = 5004;
    PacketSinkHelper sinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    auto sink = DynamicCast<PacketSink>(sinkHelper.Install(accessPoint.Get(0)).Get(0));
    const double interval = stations * payload * 8.0 / (offeredMbps * 1e6);
    UdpClientHelper client(target.GetAddress(0), port);
    client.SetAttribute("MaxPackets", UintegerValue(0));
    client.SetAttribute("PacketSize", UintegerValue(payload));
    client.SetAttribute("Interval", TimeValue(Seconds(interval)));
    for (uint32_t number = 0; number < stations; ++number)
    {
        // After association, one after the other.
        client.Install(senders.Get(number)).Start(Seconds(0.5 + interval * number / stations));
    }
    RunAndPrint(seconds, [&] { return sink->GetTotalRx(); });
    return 0;
}
