// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Data Center TCP: the window is cut by half the part of packets that were marked.
 *
 * RFC 8257, with the arithmetic of the kernel's module of that name. Where the peer does not agree to ECN nothing is ever
 * marked, and it is Reno.
 */
#include "tcp.h"

/* g = 1/16 (RFC 8257, section 4.2), as a shift; alpha in 1/1024. */
#define GAIN_SHIFT 4
#define WHOLE_SHIFT 10
#define WHOLE (1 << WHOLE_SHIFT)
/* include/net/tcp.h and include/net/inet_connection_sock.h of the kernel. */
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

struct dctcp {
	__u32 delivered;
	__u32 delivered_ce;
	__u32 prior_rcv_nxt;
	__u32 alpha;
	__u32 window_end;
	__u32 was_marked;
	__u32 prior_cwnd;
};

static __always_inline void begin_window(struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

/* RFC 8257, section 3.5. */
static __always_inline void react_to_loss(struct tcp_sock *tp, struct dctcp *ca)
{
	__u32 cwnd = tp->snd_cwnd;

	ca->prior_cwnd = cwnd;
	tp->snd_ssthresh = most_of(cwnd >> 1, LEAST_WINDOW);
}

static __always_inline void echo(struct tcp_sock *tp, __u32 is_marked)
{
	if (is_marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Says of each packet whether it was marked (RFC 8257, section 3.2). */
static __always_inline void note_mark(struct sock *sk, struct dctcp *ca, __u32 is_marked)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->was_marked != is_marked) {
		/* An acknowledgement that was delayed goes first, for the packets before. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, ca->was_marked);
			bpf_tcp_send_ack(sk, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->was_marked = is_marked;
	echo(tp, is_marked);
}

HOOK void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct dctcp *ca = state_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->alpha = WHOLE;
	ca->prior_cwnd = 0;
	ca->was_marked = 0;
	begin_window(tp, ca);
}

HOOK __u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *ca = state_of(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->prior_cwnd = cwnd;
	return most_of(cwnd - (__u32)(((__u64)cwnd * ca->alpha) >> (WHOLE_SHIFT + 1)), LEAST_WINDOW);
}

/* Once per window, alpha = (1 - g) alpha + g M (RFC 8257, section 3.3). */
HOOK void BPF_PROG(dctcp_ack, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = state_of(sk);
	__u32 delivered, alpha, part;
	__u64 marked;

	/* Without ECN alpha stays 1, and a reduction is Reno's. */
	if (!(tp->ecn_flags & TCP_ECN_OK) || is_after(ca->window_end, tp->snd_una))
		return;
	delivered = most_of(tp->delivered - ca->delivered, 1);
	marked = tp->delivered_ce - ca->delivered_ce;
	alpha = ca->alpha;
	part = alpha >> GAIN_SHIFT;
	alpha -= part ? part : alpha;
	if (marked) {
		alpha += (__u32)((marked << (WHOLE_SHIFT - GAIN_SHIFT)) / delivered);
		alpha = least_of(alpha, WHOLE);
	}
	ca->alpha = alpha;
	begin_window(tp, ca);
}

HOOK void BPF_PROG(dctcp_state, struct sock *sk, __u8 state)
{
	if (state == TCP_CA_Recovery && ca_state(sk) != TCP_CA_Recovery)
		react_to_loss(tcp_sk(sk), state_of(sk));
}

HOOK void BPF_PROG(dctcp_event, struct sock *sk, int event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		note_mark(sk, state_of(sk), 1);
	else if (event == CA_EVENT_ECN_NO_CE)
		note_mark(sk, state_of(sk), 0);
	else if (event == CA_EVENT_LOSS)
		react_to_loss(tcp_sk(sk), state_of(sk));
}

HOOK void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

HOOK __u32 BPF_PROG(dctcp_undo, struct sock *sk)
{
	struct dctcp *ca = state_of(sk);

	return most_of(tcp_sk(sk)->snd_cwnd, ca->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_ack,
	.cwnd_event = (void *)dctcp_event,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_state,
	.undo_cwnd = (void *)dctcp_undo,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
};

LICENSE;
