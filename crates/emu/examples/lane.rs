//! The smallest use of the emulated world: datagrams over one lane, and how punctual it was.
//!
//! ```sh
//! cargo run -p framewire-emu --example lane -- local           # or remote
//! cargo run -p framewire-emu --example lane -- local hold      # keeps the world until it is killed
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an example of a world opens sockets and sleeps"
)]

use std::error::Error;
use std::io::Write;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use framewire_emu::{BottleneckPlace, Clock, LaneConfig, RECEIVER_ADDRESS, RateAndDelay, SENDER_ADDRESS, World};
use framewire_units::Bitrate;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_given = |word: &str| arguments.iter().any(|argument| argument == word);
    let bottleneck = if is_given("local") { BottleneckPlace::LocalDevice } else { BottleneckPlace::Remote };

    // Before any thread: without root this enters a user namespace.
    let link = RateAndDelay::new(Bitrate::from_mbps(10), Duration::from_millis(20));
    let world = World::start(vec![LaneConfig::new("lane", Box::new(link), bottleneck)], Clock::start())?;
    let lane = world.lane(0);
    let receiver = lane.in_receiver(|| UdpSocket::bind((RECEIVER_ADDRESS, 5_004)))??;
    let sender = lane.in_sender(|| UdpSocket::bind((SENDER_ADDRESS, 5_004)))??;
    receiver.set_read_timeout(Some(Duration::from_secs(2)))?;

    let mut buffer = [0; 2_000];
    for _ in 0..100 {
        sender.send_to(&[0; 1_000], (RECEIVER_ADDRESS, 5_004))?;
        receiver.recv(&mut buffer)?;
    }
    if is_given("hold") {
        println!("holding");
        std::io::stdout().flush()?;
        thread::sleep(Duration::from_secs(600));
    }
    let record = world.stop()?.remove(0);
    println!("{}", serde_json::to_string(&record.accuracy)?);
    Ok(())
}
