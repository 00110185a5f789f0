// What both programs print, so that the timing is the same: one line of JSON.
#pragma once

#include "ns3/core-module.h"

#include <sys/resource.h>

#include <cstdint>
#include <iostream>

/// CPU seconds of this process so far.
inline double CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Runs the simulation until `seconds` and prints what it cost. Building the scenario is not counted.
template <typename ReceivedBytes>
void RunAndPrint(double seconds, ReceivedBytes receivedBytes)
{
    ns3::Simulator::Stop(ns3::Seconds(seconds));
    const double before = CpuSeconds();
    ns3::Simulator::Run();
    const double cpu = CpuSeconds() - before;
    const double goodput = receivedBytes() * 8.0 / seconds;
    std::cout << "{\"simulated_s\": " << seconds << ", \"cpu_s\": " << cpu << ", \"goodput_bps\": " << goodput
              << ", \"events\": " << ns3::Simulator::GetEventCount() << "}" << std::endl;
    ns3::Simulator::Destroy();
}
