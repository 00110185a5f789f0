//! What the endpoints of a flow's connections are to be like.

use framewire_scenario::TcpOptions;
use framewire_session::ConnectionSettings;
use framewire_tcp::{IP_AND_TCP_HEADERS, TcpConfig};
use framewire_units::{Duration, Seed};

use crate::check::congestion;
use crate::error::SimError;

/// Payload of a packet of `largest_packet` bytes, without options (RFC 9293, 3.7.1).
fn maximum_segment(largest_packet: u16) -> u32 {
    u32::from(largest_packet) - IP_AND_TCP_HEADERS as u32
}

/// The endpoints of a flow: at the sender as the scenario says, at the receiver as the kernel has it by itself.
pub(super) fn tcp_configs(
    flow: &str,
    settings: &ConnectionSettings,
    largest_packet: u16,
    seed: Seed,
) -> Result<(TcpConfig, TcpConfig), SimError> {
    let client = TcpConfig {
        maximum_segment: maximum_segment(settings.mtu),
        congestion: congestion(settings.congestion.as_deref(), &format!("flow.{flow}.congestion"))?,
        ecn: settings.ecn,
        send_buffer: settings.send_buffer,
        unsent_limit: settings.unsent_limit,
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        seed,
        ..TcpConfig::default()
    };
    let server = TcpConfig {
        maximum_segment: maximum_segment(largest_packet),
        congestion: match settings.receiver_congestion() {
            Some(name) => congestion(Some(name), flow)?,
            None => TcpConfig::default().congestion,
        },
        ecn: settings.ecn,
        seed,
        ..TcpConfig::default()
    };
    let options = settings.options.clone().unwrap_or_default();
    Ok((with_options(client, &options), with_options(server, &options)))
}

/// A host with these options.
fn with_options(config: TcpConfig, options: &TcpOptions) -> TcpConfig {
    let delay = |usual| if options.delayed_acks { usual } else { Duration::ZERO };
    TcpConfig {
        sack: options.sack,
        timestamps: options.timestamps,
        initial_window: options.initial_window.unwrap_or(config.initial_window),
        receive_buffer: options.receive_buffer.or(config.receive_buffer),
        min_rto: options.min_rto.unwrap_or(config.min_rto),
        min_ack_delay: delay(config.min_ack_delay),
        max_ack_delay: delay(config.max_ack_delay),
        ..config
    }
}
