//! What a datagram costs in kernel memory.

use framewire_units::DataSize;

/// `struct sk_buff`, rounded up to cache lines (x86-64).
const SK_BUFF: u64 = 256;
/// `struct skb_shared_info`, rounded up to cache lines; it stands at the end of a packet's data (x86-64).
const SHARED_INFO: u64 = 320;
/// Room that UDP asks for beside the payload: IPv4 and UDP headers (20 and 8), the Ethernet header with its padding (16)
/// and 15 spare bytes (`__ip_append_data`, `sock_alloc_send_pskb` in Linux).
const BESIDE_PAYLOAD: u64 = 59;
/// A cache line.
const LINE: u64 = 64;
/// Sizes in which the kernel hands memory out: its own cache for small packets (`SKB_SMALL_HEAD_CACHE_SIZE`), then powers
/// of two.
const SMALL_HEAD: u64 = 576;
const SMALLEST_POWER: u64 = 1_024;

/// Kernel memory that is charged to a socket for a UDP datagram of so many bytes of payload (`skb->truesize`).
///
/// The rule of `__alloc_skb` on x86-64; on Linux 6.18 it was measured as 832 bytes up to a payload of 100, 1,280 from 200
/// to 600, and 2,304 from 700 to 1,472 (`docs/transports.md`).
pub(crate) fn truesize(payload: DataSize) -> DataSize {
    let data = (payload.as_bytes() + BESIDE_PAYLOAD).next_multiple_of(LINE) + SHARED_INFO;
    let block = if data <= SMALL_HEAD { SMALL_HEAD } else { data.next_power_of_two().max(SMALLEST_POWER) };
    DataSize::from_bytes(SK_BUFF + block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: u64) -> u64 {
        truesize(DataSize::from_bytes(payload)).as_bytes()
    }

    #[test]
    fn memory_is_as_measured() {
        for (payloads, size) in [(vec![0, 1, 100], 832), (vec![200, 400, 600], 1_280), (vec![700, 1_000, 1_472], 2_304)]
        {
            payloads.into_iter().for_each(|payload| assert_eq!(of(payload), size, "{payload}"));
        }
        assert_eq!(of(8_972), 256 + 16_384);
    }

    #[test]
    fn memory_never_shrinks_with_the_payload() {
        (0..9_000).for_each(|payload| assert!(of(payload) <= of(payload + 1)));
    }
}
