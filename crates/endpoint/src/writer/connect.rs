//! From a name and a port to a connection, without ever blocking for longer than the thread may be stopped.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use framewire_sockets::{OpenError, TcpOptions, TcpSender, UdpOptions, UdpSender, Watch};
use framewire_transport::datagram::Overflow;
use framewire_transport::live::Placed;
use framewire_transport::queue::FrameQueue;
use framewire_transport::{DatagramSender, StreamSender, TransportKind};
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};

use super::Shared;
use super::connection::Connection;
use super::plan::{Plan, Protocol};

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoConnection {
    /// The element is being stopped.
    Stopped,
    /// It may be there later. In words that name host or port.
    Failed(String),
    /// The settings do not allow one. In words that name the setting.
    Impossible(String),
}

impl NoConnection {
    fn because(reason: impl ToString) -> Self {
        Self::Failed(reason.to_string())
    }
}

impl From<OpenError> for NoConnection {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Congestion { .. } | OpenError::Buffer { .. } => Self::Impossible(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Makes one attempt to connect: every address of the host in turn, for as long as the plan allows for all of them.
pub(super) fn connect<P: Placed>(shared: &Shared<P>, plan: &Plan) -> Result<Connection, NoConnection> {
    let deadline = Instant::now() + plan.connect_timeout;
    let mut last = NoConnection::because(format!("{} has no address", plan.host));
    for address in resolve(shared, plan, deadline)? {
        match open(shared, plan, address, deadline) {
            Ok(connection) => return Ok(connection),
            Err(NoConnection::Failed(reason)) => last = NoConnection::Failed(reason),
            Err(for_good) => return Err(for_good),
        }
    }
    Err(last)
}

/// The addresses of the host. Looking up a name can take as long as the resolver likes, so a thread of its own does
/// it, and is left behind when it is not waited for any more.
fn resolve<P: Placed>(shared: &Shared<P>, plan: &Plan, deadline: Instant) -> Result<Vec<SocketAddr>, NoConnection> {
    if let Ok(address) = plan.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, plan.port)]);
    }
    let (answer, answered) = mpsc::channel();
    let (host, port, waker) = (plan.host.clone(), plan.port, shared.waker.clone());
    let resolver = std::thread::Builder::new().name("frame-writer-resolver".to_owned()).spawn(move || {
        let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // There is no receiver of it any more when the element was stopped.
        let _ = answer.send(addresses);
        waker.wake();
    });
    resolver.map_err(NoConnection::because)?;
    loop {
        match answered.try_recv() {
            Ok(Ok(addresses)) => return Ok(addresses),
            Ok(Err(error)) => return Err(NoConnection::Failed(format!("host \"{}\": {error}", plan.host))),
            Err(_) => wait(shared, None, deadline, || format!("host \"{}\" could not be looked up", plan.host))?,
        };
    }
}

fn open<P: Placed>(
    shared: &Shared<P>,
    plan: &Plan,
    address: SocketAddr,
    deadline: Instant,
) -> Result<Connection, NoConnection> {
    match plan.protocol {
        Protocol::Tcp => open_stream(shared, plan, address, deadline),
        Protocol::Udp => open_datagrams(plan, address),
    }
}

fn open_stream<P: Placed>(
    shared: &Shared<P>,
    plan: &Plan,
    address: SocketAddr,
    deadline: Instant,
) -> Result<Connection, NoConnection> {
    let options = TcpOptions {
        unsent_limit: plan.unsent_limit,
        congestion: plan.congestion.clone(),
        // The end of a frame is not held back for want of the next one.
        no_delay: true,
        ..TcpOptions::default()
    };
    let socket = TcpSender::start(None, address, &options)?;
    loop {
        let watch = Watch { write: true, read: false };
        if wait(shared, Some((socket.as_fd(), watch)), deadline, || format!("{address} does not answer"))? {
            break;
        }
    }
    socket.connected()?;
    if let Some(timeout) = plan.receiver_timeout {
        socket.set_user_timeout(timeout).map_err(NoConnection::because)?;
    }
    let queue = FrameQueue::new(plan.queue);
    Ok(Connection::Stream(StreamSender::new(queue, plan.unsent_limit), socket))
}

fn open_datagrams(plan: &Plan, address: SocketAddr) -> Result<Connection, NoConnection> {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let send_buffer = TransportKind::UDP_IFD.profile().send_buffer;
    let options = UdpOptions { send_buffer, ..UdpOptions::default() };
    let mut socket = UdpSender::open(SocketAddr::new(any, 0), address, &options)?;
    // A receiver may be started after the sender, as with any RTP stream.
    socket.ignore_refusal();
    let rtp = plan.rtp;
    let origin = StreamOrigin { ssrc: rtp.ssrc, initial_sequence: rtp.initial_sequence };
    let packetizer = Packetizer::new(&mpeg_video::FORMAT, PacketRule::Full, rtp.mtu, origin)
        .and_then(|packetizer| packetizer.with_payload_type(rtp.payload_type))
        .map(|packetizer| packetizer.with_initial_timestamp(rtp.initial_timestamp))
        .map_err(|error| NoConnection::Impossible(error.to_string()))?;
    let half = DatagramSender::new(FrameQueue::new(plan.queue), packetizer, Overflow::Wait);
    Ok(Connection::Datagrams(half, socket))
}

/// Waits for the waker or the socket; true when the socket is ready or broken.
fn wait<P: Placed>(
    shared: &Shared<P>,
    socket: Option<(BorrowedFd<'_>, Watch)>,
    deadline: Instant,
    late: impl Fn() -> String,
) -> Result<bool, NoConnection> {
    match &*shared.state() {
        state if state.stopping => return Err(NoConnection::Stopped),
        state if state.is_ending() => return Err(NoConnection::because("no connection before the stream ended")),
        _ => {}
    }
    let left = deadline.saturating_duration_since(Instant::now());
    if left == Duration::ZERO {
        return Err(NoConnection::Failed(late()));
    }
    let ready = shared.waker.wait(socket, Some(left)).map_err(NoConnection::because)?;
    Ok(ready.write || ready.broken)
}
