//! What takes packets off a wire: random processes and timed outages.

use framewire_units::{Probability, Seed, Timestamp};

use crate::config::{GilbertElliott, Interval, LossConfig};
use crate::verdict::DropCause;

/// The loss of one direction of a wire. The draws of the n-th packet are a function of (seed, wire, n).
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    process: LossConfig,
    outages: Vec<Interval>,
    seed: Seed,
    wire: u64,
    packets: u64,
    bad: bool,
}

impl Loss {
    /// A process in its stationary state; `wire` names the wire among those of the network.
    pub(crate) fn new(process: LossConfig, outages: Vec<Interval>, seed: Seed, wire: u64) -> Self {
        let mut start = seed.stream("loss state", &[wire]);
        let bad = start.chance(stationary_bad(process));
        Self { process, outages, seed, wire, packets: 0, bad }
    }

    /// Decides on the next packet, whose last bit enters the wire at `at`.
    #[inline]
    pub(crate) fn handle_packet(&mut self, at: Timestamp) -> Result<(), DropCause> {
        let lost = self.process != LossConfig::None && self.draw();
        if self.outages.iter().any(|outage| outage.contains(at)) {
            Err(DropCause::Outage)
        } else if lost {
            Err(DropCause::RandomLoss)
        } else {
            Ok(())
        }
    }

    fn draw(&mut self) -> bool {
        let mut draws = self.seed.stream("loss", &[self.wire, self.packets]);
        self.packets += 1;
        match self.process {
            LossConfig::None => false,
            LossConfig::Bernoulli(probability) => draws.chance(probability),
            LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }) => {
                let lost = draws.chance(if self.bad { loss_bad } else { loss_good });
                self.bad ^= draws.chance(if self.bad { bad_to_good } else { good_to_bad });
                lost
            }
        }
    }
}

/// Share of time that a Gilbert-Elliott chain spends in its bad state; zero for a chain that never moves.
fn stationary_bad(process: LossConfig) -> Probability {
    match process {
        LossConfig::GilbertElliott(chain) if chain.good_to_bad.get() > 0.0 => {
            Probability::clamped(chain.good_to_bad.get() / (chain.good_to_bad.get() + chain.bad_to_good.get()))
        }
        _ => Probability::ZERO,
    }
}
