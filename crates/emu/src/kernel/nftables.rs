//! One nf_tables rule, written straight to the kernel: every packet that leaves by a device goes to a packet queue
//! (linux/netfilter/nf_tables.h). No program is needed for it.

use std::io;

use super::netlink::{Message, NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NetlinkSocket};

const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;

const NFPROTO_IPV4: u8 = 2;
const NF_INET_POST_ROUTING: u32 = 4;
/// After every other hook, so that what is queued is what would go to the device.
const PRIORITY_LAST: i32 = i32::MAX;
const NF_ACCEPT: u32 = 1;
const NFT_META_OIF: u32 = 5;
const NFT_REG_1: u32 = 1;
const NFT_CMP_EQ: u32 = 0;

const TABLE: &str = "framewire";
const CHAIN: &str = "device";

/// The expression that hands packets over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum QueueExpression {
    /// `queue` of nf_tables itself (CONFIG_NFT_QUEUE).
    Native,
    /// The NFQUEUE target of iptables inside nf_tables (CONFIG_NFT_COMPAT), what iptables-nft uses.
    Compatible,
}

/// Adds a table, a chain and the rule to the namespace of the calling thread.
pub(crate) fn queue_packets_leaving(device_index: u32, queue: u16, expression: QueueExpression) -> io::Result<()> {
    let hook =
        |nest: Message| nest.attribute_be32(1, NF_INET_POST_ROUTING).attribute_be32(2, PRIORITY_LAST.cast_unsigned());
    let table = message(NFT_MSG_NEWTABLE, NLM_F_CREATE).attribute_text(1, TABLE);
    let chain = message(NFT_MSG_NEWCHAIN, NLM_F_CREATE)
        .attribute_text(1, TABLE)
        .attribute_text(3, CHAIN)
        .nested(4, hook)
        .attribute_be32(5, NF_ACCEPT)
        .attribute_text(7, "filter");
    let rule = message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK)
        .attribute_text(1, TABLE)
        .attribute_text(2, CHAIN)
        .nested(4, |list| expressions(list, device_index, queue, expression));
    NetlinkSocket::open(libc::NETLINK_NETFILTER)?.batch(vec![
        boundary(NFNL_MSG_BATCH_BEGIN),
        table,
        chain,
        rule,
        boundary(NFNL_MSG_BATCH_END),
    ])
}

fn expressions(list: Message, device_index: u32, queue: u16, expression: QueueExpression) -> Message {
    let list = one(list, "meta", |data| data.attribute_be32(1, NFT_REG_1).attribute_be32(2, NFT_META_OIF));
    let list = one(list, "cmp", |data| {
        data.attribute_be32(1, NFT_REG_1)
            .attribute_be32(2, NFT_CMP_EQ)
            .nested(3, |value| value.attribute_u32(1, device_index))
    });
    match expression {
        QueueExpression::Native => {
            one(list, "queue", |data| data.attribute(1, &queue.to_be_bytes()).attribute(2, &1u16.to_be_bytes()))
        }
        QueueExpression::Compatible => one(list, "target", |data| {
            // struct xt_NFQ_info of revision 0, aligned to 8 bytes.
            let mut info = [0; 8];
            info[..2].copy_from_slice(&queue.to_ne_bytes());
            data.attribute_text(1, "NFQUEUE").attribute_be32(2, 0).attribute(3, &info)
        }),
    }
}

/// One expression of a rule: its name and its data.
fn one(list: Message, name: &str, data: impl FnOnce(Message) -> Message) -> Message {
    list.nested(1, |element| element.attribute_text(1, name).nested(2, data))
}

fn message(kind: u16, flags: u16) -> Message {
    Message::new((NFNL_SUBSYS_NFTABLES << 8) | kind, flags, &[NFPROTO_IPV4, 0, 0, 0])
}

fn boundary(kind: u16) -> Message {
    let subsystem = NFNL_SUBSYS_NFTABLES.to_be_bytes();
    Message::new(kind, 0, &[0, 0, subsystem[0], subsystem[1]])
}
