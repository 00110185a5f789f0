//! Levels of a ladder, from an adaptive server to its client.

use framewire_adaptive::client::{Client, ClientSettings, PlayerSettings};
use framewire_adaptive::rate_control::{RateControl, RateControlSettings};
use framewire_adaptive::server::{Server, ServerSettings};
use framewire_adaptive::source::PlanWithAudio;
use framewire_adaptive::vtp::Estimate;
use framewire_scenario::{self as scenario, Player, Vtp};
use framewire_units::{DataSize, Duration, Probability, Seed, Timestamp};
use framewire_wire::vtp::{Secret, Title, VIDEO_HEADER_LENGTH};

use super::{BuildError, CommonSetup};
use crate::adaptive::{AdaptiveReceiver, AdaptiveSender, IP_AND_UDP_HEADERS, LadderContent, channel_ids};
use crate::channels::ChannelSetup;
use crate::receiver::ReceiverLog;
use crate::sender::SenderLog;

/// What the packets of an adaptive stream are asked for by: one movie per session needs no better name.
const TITLE: &str = "ladder";

/// A flow of levels of a ladder.
#[derive(Clone, Debug)]
pub struct AdaptiveSetup {
    /// What all flows have.
    pub common: CommonSetup,
    /// What it sends levels of.
    pub ladder: LadderContent,
    /// When it begins.
    pub start: Timestamp,
    /// What its player waits for after the first arrival.
    startup: Duration,
    /// Video leaves at the multiples of this; zero for any time.
    pub send_tick: Duration,
    /// A packet is seen, and stamped, at the next multiple of this; zero for when it comes.
    pub receive_tick: Duration,
    rate_control: RateControl,
    /// What is VTP's; the others do not look at it.
    vtp: Option<Vtp>,
    /// The player, as far as the scenario has it otherwise than usual.
    player: Player,
    /// k: every k-th packet of video asks for a control packet.
    ack_every: u16,
    /// Payload of its packets, in bytes.
    payload: u16,
}

impl AdaptiveSetup {
    pub(super) fn new(
        common: CommonSetup,
        own: &scenario::AdaptiveFlow,
        ladder: LadderContent,
        startup: Duration,
    ) -> Result<Self, BuildError> {
        let packet = ladder.payload() as usize + VIDEO_HEADER_LENGTH + IP_AND_UDP_HEADERS;
        let mtu = common.settings.mtu;
        if packet > usize::from(mtu) {
            return Err(common
                .refuse(format!("mtu = {mtu}: the packets of movie.ladder have {packet} bytes with their headers")));
        }
        Ok(Self {
            start: Timestamp::ZERO + own.start,
            startup,
            rate_control: own.rate_control,
            send_tick: own.send_tick.unwrap_or_default(),
            receive_tick: own.receive_tick.unwrap_or_default(),
            vtp: own.vtp,
            player: own.player.unwrap_or_default(),
            ack_every: own.ack_every,
            payload: u16::try_from(ladder.payload()).expect("invariant: a packet fits into the MTU"),
            ladder,
            common,
        })
    }

    /// Its channels.
    pub(crate) fn channels(&self) -> Vec<ChannelSetup> {
        ChannelSetup::of_levels(channel_ids(), self.common.send_buffer())
    }

    /// The server. `session` draws what both halves of the session need at random: the same for both.
    ///
    /// # Errors
    /// When the ladder cannot be served.
    pub fn sender(&self, session: Seed) -> Result<AdaptiveSender, BuildError> {
        let (ladder, plan) = (&self.ladder, self.ladder.plan());
        let controller = self.rate_control.controller(&RateControlSettings {
            payload: DataSize::from_bytes(self.payload.into()),
            plan: Some(PlanWithAudio::of(&*ladder.source(), plan.clone())),
            startup: self.startup,
            estimate: self.vtp.map_or(Estimate::PAPER, |vtp| vtp.estimate),
            alpha: self.vtp.and_then(|vtp| vtp.alpha).map(Probability::get),
            step: self.vtp.and_then(|vtp| vtp.step),
        });
        let mut draws = session.stream("secret", &[]);
        let secret = Secret::new(std::array::from_fn(|_| draws.next_u64() as u8));
        let settings = ServerSettings {
            ack_every: self.ack_every,
            buffer: ladder.client_buffer(),
            payload: self.payload,
            repeats: self.repeats(),
            ..ServerSettings::paper(title(), secret)
        };
        let server =
            Server::new(ladder.source(), plan, controller, settings).map_err(|error| self.common.refuse(error))?;
        Ok(AdaptiveSender::new(server, ladder.clone(), self.start, SenderLog::new(&self.common.recording)))
    }

    /// The client.
    pub fn receiver(&self, session: Seed) -> AdaptiveReceiver {
        let session = session.stream("session", &[]).next_u64();
        let settings = ClientSettings {
            reports: self.rate_control.reports(),
            packet_events: true,
            player: self.player(),
            ..ClientSettings::paper(title(), session)
        };
        AdaptiveReceiver::new(Client::new(settings), ReceiverLog::new(&self.common.recording))
    }

    /// The player that is reported to the server, where its rate control takes that up.
    fn player(&self) -> Option<PlayerSettings> {
        let buffer = self.player.player_buffer.unwrap_or(PlayerSettings::default().buffer);
        let player = PlayerSettings { startup: self.startup, buffer, repeats: self.repeats() };
        self.rate_control.repeats().then_some(player)
    }

    /// Whether what did not arrive is sent again.
    fn repeats(&self) -> bool {
        self.rate_control.repeats() && self.player.repeats != Some(false)
    }
}

fn title() -> Title {
    Title::new(TITLE).expect("invariant: it is shorter than 255 bytes")
}
