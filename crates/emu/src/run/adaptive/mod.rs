//! An adaptive flow: a server and a client of a ladder's levels, over this kernel's UDP.

mod channels;
mod serving;
mod viewing;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use framewire_adaptive::datagram::Channel;
use framewire_emu::{Clock, Lane, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_endpoint::{EndpointError, Ports};
use framewire_session::AdaptiveSetup;
use framewire_session::lifecycle::{AdaptiveServing, AdaptiveViewing, FlowOutcome, ReceivedMovie};
use framewire_sockets::UdpOptions;
use framewire_units::Seed;
use framewire_world::{FlowState, UDP_RECEIVE_BUFFER};

use self::channels::SessionChannels;
use self::serving::serve;
use self::viewing::view;
use super::sockets::create;
use crate::control::{Failure, FlowProgress, StopFlag};

/// The sockets of both ends, and the file of the received movie.
pub struct Ends {
    server: Ports<Clock>,
    client: Ports<Clock>,
    movie: ReceivedMovie,
}

/// What both threads of an adaptive flow are given.
pub struct AdaptiveFlow<'a> {
    /// The flow.
    pub setup: &'a AdaptiveSetup,
    /// Of the draws that both halves of the session share.
    pub seed: Seed,
    /// Its port for video at either end; the next one up is that for control.
    pub port: u16,
    /// The run's clock.
    pub clock: Clock,
    /// What is shown of it.
    pub progress: &'a FlowProgress,
    /// Ends it early.
    pub stop: &'a StopFlag,
}

impl Ends {
    /// Opens the sockets in both hosts of the lane. The movie as received is written to `movie`.
    ///
    /// # Errors
    /// When a port is taken, the send buffer cannot be as large as the flow says, or the file cannot be created.
    pub fn open(setup: &AdaptiveSetup, port: u16, lane: Lane<'_>, clock: Clock, movie: &Path) -> Result<Self, Failure> {
        let name = setup.common.name();
        let failed = |side| move |error: EndpointError| Failure::run(format!("flow {name}: {side}: {error}"));
        let server = UdpOptions { send_buffer: setup.common.send_buffer(), ..options() };
        let open = |host, options: UdpOptions| move || Ports::open_with(addresses(host, port), &options, clock);
        let movie = create(movie)?;
        Ok(Self {
            server: lane.in_sender(open(SENDER_ADDRESS, server))?.map_err(failed("sender"))?,
            client: lane.in_receiver(open(RECEIVER_ADDRESS, options()))?.map_err(failed("receiver"))?,
            movie,
        })
    }
}

/// Both sides of an adaptive flow, to the end.
///
/// # Errors
/// When the flow cannot be built, the kernel does not let a thread into a host, or there are no descriptors left.
pub fn stream(flow: &AdaptiveFlow<'_>, ends: Ends) -> Result<FlowOutcome, Failure> {
    let sender = flow.setup.sender(flow.seed).map_err(Failure::run)?;
    let (server_gone, client_gone) = (StopFlag::new()?, StopFlag::new()?);
    let Ends { server, client, movie } = ends;
    let serving = AdaptiveServing::new(sender, flow.setup.start, flow.setup.common.samples());
    let viewing = AdaptiveViewing::new(flow.setup.receiver(flow.seed), movie);
    let (served, viewed) = std::thread::scope(|scope| {
        let viewer = scope.spawn(|| {
            let viewed = view(flow, viewing, SessionChannels::new(client, SENDER_ADDRESS, flow.port), &server_gone);
            client_gone.raise();
            viewed
        });
        // A socket stays in the namespace in which it was opened, wherever its thread is.
        let served = serve(flow, serving, SessionChannels::new(server, RECEIVER_ADDRESS, flow.port), &client_gone);
        server_gone.raise();
        (served, viewer.join())
    });
    flow.progress.set_state(FlowState::Done);
    let viewed = viewed.map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
    Ok(viewed.into_outcome(served).0)
}

fn options() -> UdpOptions {
    UdpOptions { receive_buffer: Some(UDP_RECEIVE_BUFFER), ..UdpOptions::default() }
}

/// Addresses of both sockets at a host.
fn addresses(host: Ipv4Addr, port: u16) -> [SocketAddr; 2] {
    Channel::BOTH.map(|channel| address(host, port, channel))
}

fn address(host: Ipv4Addr, port: u16, channel: Channel) -> SocketAddr {
    let offset = match channel {
        Channel::Data => 0,
        Channel::Control => 1,
    };
    SocketAddr::from((host, port + offset))
}
