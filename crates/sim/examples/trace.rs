//! scratch
use framewire_link::*;
use framewire_sim::experiment::*;
use framewire_units::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let rate: u64 = a[2].parse().unwrap();
    let rtt: u64 = a[3].parse().unwrap();
    let loss: f64 = a[4].parse().unwrap();
    let qb: u64 = a[5].parse().unwrap();
    let secs: u64 = a[6].parse().unwrap();
    let loss = if loss > 0.0 { LossConfig::Bernoulli(Probability::clamped(loss)) } else { LossConfig::None };
    let net = bottleneck(
        Bitrate::from_mbps(rate),
        Duration::from_millis(rtt),
        loss,
        QueueLimit::Bytes(DataSize::from_bytes(qb)),
    );
    let mut e = TcpExperiment::new(a[1].parse().unwrap(), net);
    e.duration = Duration::from_secs(secs);
    if a.len() > 7 {
        e.traffic = Traffic::Paced { frame: DataSize::from_bytes(37_500), interval: Duration::from_millis(40) };
    }
    #[allow(clippy::disallowed_methods, clippy::disallowed_types)]
    let t = std::time::Instant::now();
    let o = e.run().unwrap();
    let w = t.elapsed().as_secs_f64();
    println!(
        "goodput {:.3} Mbit/s segs {} acks {} retr {} rto {} srtt {:?} fwd {:?} bwd {:?} qd {} rl {} | {:.1} sim s/s, {:.0} data pkts/s",
        o.goodput().as_mbps_f64(),
        o.segments,
        o.acknowledgements,
        o.last.retransmissions,
        o.last.timeouts,
        o.mean_srtt(),
        o.forward_delay,
        o.backward_delay,
        o.queue_drops,
        o.random_losses,
        secs as f64 / w,
        o.segments as f64 / w
    );
    println!("{:?}", o.last);
}
