//! The bytes that wait to be read, and the memory that the kernel charges for them.

use std::collections::VecDeque;

use crate::reassembly::Run;

/// Bytes in front of the payload: what a device reserves (16), and the headers of Ethernet (14), IPv4 (20) and TCP
/// with timestamps (32).
const FRONT: u64 = 98;
/// `struct sk_buff`, and the shared info behind the data, as aligned.
const BUFFER_HEAD: u64 = 256;
const SHARED_INFO: u64 = 320;
/// Data sizes of the kernel's memory caches, and what a buffer from them is charged with. Measured on Linux 6.18:
/// `SK_MEMINFO` of a socket that got packets through veth from a packet socket.
const CACHES: [(u64, u64); 3] = [(256, 832), (704, 1_280), (1_728, 2_304)];
/// Payload of a page that packets are copied into when memory is short. Linux: `SKB_MAX_ORDER(0, 0)`.
const PAGE_PAYLOAD: u64 = 3_776;
/// What such a page is charged with.
const PAGE_TRUESIZE: u64 = 4_352;

/// Payload that fits a packet's buffer, beside its headers, and the charge.
fn buffer_for(payload: u64) -> (u64, u64) {
    let cache = CACHES.iter().find(|(data, _)| FRONT + payload <= *data);
    let (data, charge) = cache.copied().unwrap_or_else(|| {
        let head = (FRONT + payload + SHARED_INFO).next_power_of_two();
        (head - SHARED_INFO, head + BUFFER_HEAD)
    });
    (data - FRONT, charge)
}

/// What the kernel charges a receiving socket for a packet (`skb->truesize`).
pub(crate) fn truesize(payload: u64) -> u64 {
    buffer_for(payload).1
}

/// What `bytes` are charged with when they are packed into pages.
pub(crate) fn packed(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_PAYLOAD) * PAGE_TRUESIZE
}

/// One or more packets of equal size, one after the other.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    end: u64,
    payload: u64,
    truesize: u64,
    packets: u64,
}

/// Bytes in order that were not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveQueue {
    chunks: VecDeque<Chunk>,
    /// Bytes left in the buffer of the last packet, which short packets are copied into. Linux: `skb_try_coalesce`.
    room: u64,
}

impl ReceiveQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Queues the packet that has just come; returns what it is charged with: nothing where it was copied.
    pub(crate) fn push_packet(&mut self, packet: Run) -> u64 {
        let payload = packet.end - packet.start;
        if payload == 0 {
            return 0;
        }
        if let Some(last) = self.chunks.back_mut().filter(|_| payload <= self.room) {
            self.room -= payload;
            last.end = packet.end;
            last.payload += payload;
            return 0;
        }
        self.append(packet);
        self.room = buffer_for(payload).0.saturating_sub(payload);
        packet.truesize
    }

    /// Queues what waited beyond a hole, which was charged when it came; returns what to give back.
    pub(crate) fn push_run(&mut self, run: Run) -> u64 {
        if run.end == run.start {
            return run.truesize;
        }
        self.append(run);
        self.room = 0;
        0
    }

    fn append(&mut self, run: Run) {
        let (payload, packets) = (run.end - run.start, u64::from(run.packets));
        if let Some(last) = self.chunks.back_mut() {
            let is_alike = last.payload * packets == payload * last.packets
                && last.truesize * packets == run.truesize * last.packets;
            if is_alike {
                last.end = run.end;
                last.payload += payload;
                last.truesize += run.truesize;
                last.packets += packets;
                return;
            }
        }
        self.chunks.push_back(Chunk { end: run.end, payload, truesize: run.truesize, packets });
    }

    /// All before `read` was read; returns the charge of the packets that are thereby done with.
    pub(crate) fn release(&mut self, read: u64) -> u64 {
        let mut released = 0;
        while let Some(chunk) = self.chunks.front_mut() {
            if read < chunk.end {
                let start = chunk.end - chunk.payload;
                let done = read.saturating_sub(start) * chunk.packets / chunk.payload;
                let truesize = chunk.truesize * done / chunk.packets;
                chunk.payload -= chunk.payload * done / chunk.packets;
                chunk.truesize -= truesize;
                chunk.packets -= done;
                return released + truesize;
            }
            released += chunk.truesize;
            self.chunks.pop_front();
        }
        self.room = 0;
        released
    }

    /// Packs what waits into pages where that saves memory; returns how much. Linux: `tcp_collapse`.
    pub(crate) fn pack(&mut self) -> u64 {
        let charged: u64 = self.chunks.iter().map(|chunk| chunk.truesize).sum();
        let payload: u64 = self.chunks.iter().map(|chunk| chunk.payload).sum();
        let truesize = packed(payload);
        let Some(&Chunk { end, .. }) = self.chunks.back().filter(|_| truesize < charged) else { return 0 };
        self.chunks.clear();
        self.chunks.push_back(Chunk { end, payload, truesize, packets: payload.div_ceil(PAGE_PAYLOAD) });
        self.room = 0;
        charged - truesize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(start: u64, payload: u64) -> Run {
        Run { start, end: start + payload, truesize: truesize(payload), packets: 1 }
    }

    /// `SK_MEMINFO` of a socket of Linux 6.18 that got eight packets and read nothing: payload, memory charged.
    const MEASURED: [(u64, u64); 14] = [
        (1, 832),
        (50, 2_496),
        (100, 6_656),
        (200, 3_840),
        (300, 5_120),
        (400, 10_240),
        (500, 10_240),
        (600, 10_240),
        (700, 9_216),
        (800, 9_216),
        (900, 18_432),
        (1_200, 18_432),
        (1_400, 18_432),
        (1_448, 18_432),
    ];

    #[test]
    fn charges_what_the_kernel_charges() {
        for (payload, measured) in MEASURED {
            let mut queue = ReceiveQueue::default();
            let charged: u64 = (0..8).map(|index| queue.push_packet(packet(index * payload, payload))).sum();
            assert_eq!(charged, measured, "payload {payload}");
            assert_eq!(queue.release(8 * payload), measured, "payload {payload}");
        }
    }

    #[test]
    fn a_packet_is_given_back_when_all_of_it_was_read() {
        let mut queue = ReceiveQueue::default();
        for index in 0..10 {
            assert_eq!(queue.push_packet(packet(index * 1_448, 1_448)), 2_304);
        }
        assert_eq!(queue.chunks.len(), 1, "equal packets are one chunk");
        assert_eq!(queue.release(1_447), 0);
        assert_eq!(queue.release(1_448), 2_304);
        assert_eq!(queue.release(4 * 1_448 + 7), 3 * 2_304);
        queue.push_run(Run { start: 14_480, end: 14_480 + 4_344, truesize: 3 * 2_304, packets: 3 });
        assert_eq!(queue.release(14_480 + 1_448), 7 * 2_304);
        assert_eq!(queue.release(14_480 + 4_344), 2 * 2_304);
        assert!(queue.is_empty());
    }

    #[test]
    fn packing_saves_memory_and_loses_none() {
        let mut queue = ReceiveQueue::default();
        let charged: u64 = (0..20).map(|index| queue.push_packet(packet(index * 900, 900))).sum();
        let saved = queue.pack();
        assert_eq!(charged - saved, packed(18_000));
        assert_eq!(queue.pack(), 0, "packed already");
        assert_eq!(queue.release(9_000) + queue.release(18_000), packed(18_000));
    }
}
